"""A database backup of the engine's rows, inside of one test: taken, and put back later."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.core import serializers
from django.db import models

from jobs.models import Run, RunObject, UnknownObject, Workload
from portal.cluster.models import MirrorObject, MirrorStream
from portal.kernel.models import FeedEntry, FeedScope, IdempotencyRecord, Work
from quotas.models import Allocation
from tests.jobs.stage import Stage

# In the order of making them again.
TABLES: tuple[type[models.Model], ...] = (
    Workload,
    Run,
    RunObject,
    UnknownObject,
    Allocation,
    Work,
    MirrorStream,
    MirrorObject,
    FeedScope,
    FeedEntry,
    IdempotencyRecord,
)


@dataclass
class Backup:
    """All rows as they were when this was made."""

    said: dict[str, str] = field(default_factory=dict)

    @classmethod
    def take(cls) -> Backup:
        return cls({table.__name__: serializers.serialize("json", table._base_manager.all()) for table in TABLES})

    def restore(self, stage: Stage) -> None:
        """The rows are those of the backup; the stage's mirror begins anew, as a new watcher would."""
        for table in reversed(TABLES):
            table._base_manager.all().delete()
        for table in TABLES:
            for one in serializers.deserialize("json", self.said[table.__name__]):
                one.save()
        stage.forget()
