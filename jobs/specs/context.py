"""What a request is judged against: the team's flavors, images, policy and priorities, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FlavorFacts:
    """One flavor that the team has quota of. `maximum`: units that an empty cohort could admit; None: not known."""

    name: str
    mode: str
    resource: str = ""
    memory_mib: int = 0
    max_per_node: int = 0
    maximum: int | None = None


@dataclass(frozen=True)
class ImageFacts:
    """One image of the catalogue and the kinds of workload it is for."""

    name: str
    reference: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class PolicyFacts:
    """The team's limits. Durations in seconds, None = none. `images`: catalogue names, or prefixes ending in `/`."""

    images: tuple[str, ...] = ()
    default_max_duration: int | None = None
    longest_max_duration: int | None = None
    idle_timeout: int | None = None

    @property
    def image_names(self) -> frozenset[str]:
        """Only these catalogue images; empty: the whole catalogue."""
        return frozenset(image for image in self.images if not image.endswith("/"))

    @property
    def image_prefixes(self) -> tuple[str, ...]:
        """References may start with these; empty: no references."""
        return tuple(image for image in self.images if image.endswith("/"))


@dataclass(frozen=True)
class SpecContext:
    """All of it. `variants`: variant -> why it is not offered here ("" = offered), `priorities`: name -> managers only.

    `translate` turns a msgid into the reader's language. `cpu_maximum`, `memory_maximum`: what the queue has in all.
    """

    flavors: Mapping[str, FlavorFacts]
    images: Mapping[str, ImageFacts]
    policy: PolicyFacts = PolicyFacts()
    priorities: Mapping[str, bool] = field(default_factory=dict)
    default_priority: str = ""
    is_manager: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)
    cpu_maximum: str | None = None
    memory_maximum: str | None = None
    translate: Callable[[str], str] = str

    @property
    def usable(self) -> list[FlavorFacts]:
        """The flavors that the team can get anything of, by name."""
        return [one for _name, one in sorted(self.flavors.items()) if one.maximum != 0]

    def say(self, msgid: str, **values: object) -> str:
        """The sentence in the reader's language, with its values."""
        return self.translate(msgid) % values if values else self.translate(msgid)
