"""Keeping objects as their manifests say: written once, mended when somebody changes or removes them.

For tenant, quota and workload-owned objects. What was written is remembered by the caller (`applied`, JSON in its row),
what the cluster says comes from the mirror; an undisturbed object costs no request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.cluster import content, names
from portal.cluster.models import MirrorObject
from portal.cluster.port import ClusterGateway, FieldConflict, JsonObject, ObjectRef

# Losing the object is losing what is in it: a new, empty one in its place would hide that.
_IRREPLACEABLE = frozenset({"PersistentVolumeClaim"})


class NameTaken(Exception):
    """Somebody else's object has this name; it is left alone. `key`: `Kind/name`."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} exists and is not ours")
        self.key = key


@dataclass(frozen=True)
class Drift:
    """Somebody changed an object of ours. `managers`: field path -> who owns it, empty where nobody was overruled."""

    key: str
    managers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """`applied`: to be stored for the next call. `recreated`: keys that were gone and are made again. `lost`: keys that
    are gone and are not made again, since their content is gone with them. `written`: keys that were written."""

    applied: dict[str, Any]
    drift: tuple[Drift, ...] = ()
    recreated: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def key_of(manifest: Mapping[str, Any]) -> str:
    """`Kind/name`, under which an object is remembered and looked up."""
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def keep(
    gateway: ClusterGateway,
    manifests: Iterable[JsonObject],
    *,
    applied: Mapping[str, Any],
    mirrored: Mapping[str, MirrorObject],
    instance: str,
    before_write: Callable[[], None],
) -> Outcome:
    """Writes, in order, what is new, differs, is missing or was changed by others; forces only where another manager
    holds one of our fields. `mirrored`: rows by key (`selectors.mirrored`). `before_write` is called before each write
    and may raise. Raises NameTaken and ClusterError; what was written before that is found again by the next call."""
    keeper = _Keeper(gateway, instance, before_write)
    for manifest in manifests:
        key = key_of(manifest)
        keeper.one(key, manifest, applied.get(key), mirrored.get(key))
    return Outcome(
        keeper.applied, tuple(keeper.drift), tuple(keeper.recreated), tuple(keeper.lost), tuple(keeper.written)
    )


class _Keeper:
    def __init__(self, gateway: ClusterGateway, instance: str, before_write: Callable[[], None]) -> None:
        self.gateway = gateway
        self.instance = instance
        self.before_write = before_write
        self.applied: dict[str, Any] = {}
        self.drift: list[Drift] = []
        self.recreated: list[str] = []
        self.lost: list[str] = []
        self.written: list[str] = []

    def one(self, key: str, manifest: JsonObject, before: Mapping[str, Any] | None, row: MirrorObject | None) -> None:
        if before is not None:
            self.applied[key] = dict(before)
        if row is None or not row.ours:
            if not self._fresh_look(key, manifest, before):
                return
        elif before is not None and _drifted(row, before):
            self._write(key, manifest, changed_by_others=True)
            return
        if before is None or before["hash"] != content.manifest_hash(manifest) or not _mirrored(manifest):
            self._write(key, manifest)

    def _fresh_look(self, key: str, manifest: JsonObject, before: Mapping[str, Any] | None) -> bool:
        """The mirror does not have it: asks the server. False where nothing remains to be done."""
        if before is not None and not _mirrored(manifest):
            return True
        found = self.gateway.get(ObjectRef.of(manifest))
        if found is not None and not names.is_ours(found["metadata"].get("labels"), self.instance):
            raise NameTaken(key)
        if before is None:
            return True
        if found is not None:
            if content.content_hash(found) == before["content"]:
                return True
            self._write(key, manifest, changed_by_others=True)
            return False
        if manifest["kind"] in _IRREPLACEABLE:
            self.lost.append(key)
            return False
        self.recreated.append(key)
        self._write(key, manifest)
        return False

    def _write(self, key: str, manifest: JsonObject, *, changed_by_others: bool = False) -> None:
        managers: Mapping[str, str] = {}
        self.before_write()
        try:
            answer = self.gateway.apply(manifest)
        except FieldConflict as conflict:
            managers = conflict.owners
            self.before_write()
            answer = self.gateway.apply(manifest, force=True)
        if managers or changed_by_others:
            self.drift.append(Drift(key, managers))
        self.written.append(key)
        self.applied[key] = {
            "hash": content.manifest_hash(manifest),
            "content": content.content_hash(answer),
            "uid": answer["metadata"]["uid"],
            "version": answer["metadata"]["resourceVersion"],
        }


def _mirrored(manifest: JsonObject) -> bool:
    """Secrets are not: they are applied every time, which changes nothing where nothing differs."""
    return manifest["kind"] in content.MIRRORED


def _drifted(row: MirrorObject, before: Mapping[str, Any]) -> bool:
    """Whether the mirror shows other content than we left, and is not merely older than our write."""
    if row.content_hash == before["content"]:
        return False
    older = row.uid == before["uid"] and _number(row.resource_version) <= _number(before["version"])
    return not older


def _number(version: object) -> int:
    text = str(version)
    return int(text) if text.isdecimal() else 0
