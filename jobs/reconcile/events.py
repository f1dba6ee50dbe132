"""Kubernetes events about a workload's objects, copied into its history once each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.observe.seen import when
from jobs.reconcile.loading import Situation
from jobs.transitions import TOPIC
from portal.cluster.models import MirrorObject
from portal.kernel import clock, feed

SOURCES: Mapping[str, str] = {"Workload": "kueue", "Pod": "pod"}
LONGEST = 1000
# Kueue names the preemptor and both queues: across teams that is more than anybody may know.
_PREEMPTOR = re.compile(r" \(UID: [^)]*\)")
_PATHS = re.compile(r"; (?:preemptor|preemptee) (?:path|effective priority): [^;]*")


def copy(at: Situation) -> int:
    """Appends what is new to the open transaction. Returns how many."""
    rows = MirrorObject.objects.filter(workload_id=at.workload.pk, kind="Event")
    said = sorted(rows.values_list("uid", "data", "resource_version"), key=lambda one: (_at(one[1]), _number(one[2])))
    found = {uid[:80]: data for uid, data, _version in said}
    if not found:
        return 0
    known = feed.of_object(at.workload.pk).filter(event_uid__in=found).values_list("event_uid", flat=True)
    told = set(known)
    new = [(uid, data) for uid, data in found.items() if uid not in told]
    for uid, data in new:
        _append(at, uid, data)
    return len(new)


def _append(at: Situation, uid: str, data: Mapping[str, Any]) -> None:
    kind = str((data.get("involvedObject") or {}).get("kind", ""))
    feed.append(
        scope=feed.tenant_scope(at.workload.tenant_id),
        topic=TOPIC,
        object_id=at.workload.pk,
        run=at.run.number,
        at=when(_at(data)) or clock.now(),
        source=SOURCES.get(kind, "job"),
        type=str(data.get("type") or "Normal")[:64],
        reason=str(data.get("reason") or "")[:64],
        message="%(text)s",
        params={"text": without_others(str(data.get("message") or ""))[:LONGEST]},
        event_uid=uid,
    )


def without_others(message: str) -> str:
    """The message without uids, queues and priorities of other teams' work."""
    return _PATHS.sub("", _PREEMPTOR.sub("", message)).replace("\x00", "")


def _at(data: Mapping[str, Any]) -> str:
    return str(data.get("firstTimestamp") or data.get("eventTime") or data.get("lastTimestamp") or "")


def _number(version: str) -> int:
    """Events of one second come in the order in which the server stored them."""
    return int(version) if version.isdecimal() else 0
