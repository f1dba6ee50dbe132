"""What the cluster said -> what it means for one run. Pure: mirrored dicts in, frozen values out."""

from jobs.observe.kueue import Admission, Waiting
from jobs.observe.observation import Controller, JobStatus, Node, Observation, observe
from jobs.observe.pods import Container, Ended, Pod
from jobs.observe.seen import Seen

__all__ = [
    "Admission",
    "Container",
    "Controller",
    "Ended",
    "JobStatus",
    "Node",
    "Observation",
    "Pod",
    "Seen",
    "Waiting",
    "observe",
]
