"""Looks where Kueue and the model of admission differ, and counts what lasts. Called by a periodic task, no actor."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime

from portal.cluster.models import Cluster
from portal.kernel import clock
from portal.kernel.transaction import transaction
from quotas.models import Disagreement
from quotas.planning.disagreements import LASTING, ORDER, ROOM
from quotas.planning.mirrored import standing

log = logging.getLogger(__name__)
MOST_KEPT = 1000


def compare() -> int:
    """One look at every cluster that answers; how many lasting disagreements there are."""
    return sum(_compared(cluster) for cluster in Cluster.objects.filter(unreachable_since=None))


def _compared(cluster: Cluster) -> int:
    state = standing(cluster.pk)
    if state.as_of is None:
        return 0
    hasty = [state.members[key].uid for key in state.hasty if key in state.members]
    return _note(cluster, ROOM, hasty) + _note(cluster, ORDER, state.lines.misordered())


def _note(cluster: Cluster, kind: str, found: Collection[str]) -> int:
    """What is still there keeps its time; what has lasted since the look before is counted once."""
    now = clock.now()
    with transaction():
        row, _ = Disagreement.objects.select_for_update().get_or_create(
            cluster_id=cluster.pk, kind=kind, defaults={"cluster_name": cluster.name, "looked_at": now}
        )
        still = {key: row.open.get(key, now.isoformat()) for key in sorted(found)[:MOST_KEPT]}
        new = _lasting(still, now) - _lasting(row.open, row.looked_at)
        if new:
            log.warning("Kueue and the model disagree on %s: %s", kind, ", ".join(sorted(new)))
        row.open, row.lasting, row.total = still, len(_lasting(still, now)), row.total + len(new)
        row.cluster_name, row.looked_at = cluster.name, now
        row.save()
    return int(row.lasting)


def _lasting(since: Mapping[str, str], at: datetime) -> set[str]:
    return {key for key, text in since.items() if at - datetime.fromisoformat(text) >= LASTING}
