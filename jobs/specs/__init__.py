"""Requests -> specs. Pure: the same words for a form and for JSON, in the language that the context translates to."""

from jobs.specs.changes import CHANGEABLE_LIVE, parse_change
from jobs.specs.context import FlavorFacts, ImageFacts, PolicyFacts, SpecContext
from jobs.specs.kinds import parse
from jobs.specs.model import KINDS, Endpoint, Notebook, Spec, Training, from_json, to_json

__all__ = [
    "CHANGEABLE_LIVE",
    "KINDS",
    "Endpoint",
    "FlavorFacts",
    "ImageFacts",
    "Notebook",
    "PolicyFacts",
    "Spec",
    "SpecContext",
    "Training",
    "from_json",
    "parse",
    "parse_change",
    "to_json",
]
