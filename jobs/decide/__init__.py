"""Deciding, without acting: what the mirror and the record together mean. Pure."""

from jobs.decide.standing import replicas_queued, stamp, standing
from jobs.decide.verdict import DELETED, FAILED, STOPPED, SUCCEEDED, Record, Verdict

__all__ = ["DELETED", "FAILED", "STOPPED", "SUCCEEDED", "Record", "Verdict", "replicas_queued", "stamp", "standing"]
