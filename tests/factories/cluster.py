"""A cluster, and what its mirror says."""

from __future__ import annotations

import itertools
from typing import Any

from portal.cluster.models import Cluster, MirrorObject, MirrorStream
from portal.kernel import clock

_numbers = itertools.count(1)


def cluster(name: str = "demo", **fields: object) -> Cluster:
    """A cluster whose connection is called `default`."""
    return Cluster.objects.create(name=name, **fields)


def synced(on: Cluster, *kinds: str) -> None:
    """The mirror of these kinds has been filled and is as of now."""
    for kind in kinds:
        MirrorStream.objects.update_or_create(
            cluster=on,
            kind=kind,
            defaults={"resource_version": "1", "synced_at": clock.now(), "listed_at": clock.now()},
        )


def mirrored(
    on: Cluster,
    kind: str,
    name: str,
    *,
    namespace: str = "",
    labels: dict[str, str] | None = None,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **fields: object,
) -> MirrorObject:
    """One row of the mirror; `fields` are the model's own."""
    number = next(_numbers)
    uid = str(fields.pop("uid", f"00000000-0000-4000-8000-{number:012d}"))
    metadata: dict[str, Any] = {"name": name, "uid": uid, "labels": labels or {}, "resourceVersion": str(number)}
    if namespace:
        metadata["namespace"] = namespace
    return MirrorObject.objects.create(
        cluster=on,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        resource_version=str(number),
        data={"metadata": metadata, "spec": spec or {}, "status": status or {}},
        seen_at=clock.now(),
        **fields,
    )
