"""What the control endpoint has set: speed, clock, whether Kueue runs, and rules for pods.

It is one ConfigMap in the store, so that a restart of the cluster keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

NAMESPACE = "kube-system"
NAME = "simulated-cluster"


@dataclass(frozen=True)
class Rule:
    """Which pods, and what they do. A pod matches when it has the namespace, the name's beginning and all labels."""

    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    does: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, pod: Obj) -> bool:
        meta = pod["metadata"]
        if self.namespace and meta.get("namespace") != self.namespace:
            return False
        labels = meta.get("labels") or {}
        return meta["name"].startswith(self.name) and self.labels.items() <= labels.items()


class Settings:
    """Read once from the store; each `set` writes them back."""

    def __init__(self, store: Store, speed: float = 1.0) -> None:
        self._store = store
        self.speed = speed
        self.kueue_runs = True
        self.rules: tuple[Rule, ...] = ()
        self.clock_offset = timedelta()
        kept = store.get("ConfigMap", NAMESPACE, NAME)
        if kept is not None:
            self._read(orjson.loads(kept["data"]["settings"]))

    def set_speed(self, speed: float) -> None:
        """Raises ValueError unless 0 < speed <= 10000."""
        if not 0 < speed <= 10_000:
            raise ValueError("speed must be above 0 and at most 10000")
        self.speed = speed
        self._write()

    def set_kueue(self, *, runs: bool) -> None:
        self.kueue_runs = runs
        self._write()

    def set_clock_offset(self, offset: timedelta) -> None:
        self.clock_offset = offset
        self._write()

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._write()

    def _read(self, kept: Obj) -> None:
        self.speed = float(kept["speed"])
        self.kueue_runs = bool(kept["kueue_runs"])
        self.rules = tuple(Rule(**rule) for rule in kept["rules"])
        self.clock_offset = timedelta(seconds=kept.get("clock_offset", 0.0))

    def _write(self) -> None:
        rules = [
            {"namespace": rule.namespace, "name": rule.name, "labels": dict(rule.labels), "does": dict(rule.does)}
            for rule in self.rules
        ]
        kept: Obj = {"speed": self.speed, "kueue_runs": self.kueue_runs, "rules": rules}
        kept["clock_offset"] = self.clock_offset.total_seconds()
        data = {"settings": orjson.dumps(kept).decode()}

        def write(config: Obj) -> None:
            config["data"] = data

        if self._store.mutate("ConfigMap", NAMESPACE, NAME, write) is None:
            meta = {"name": NAME, "namespace": NAMESPACE}
            self._store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
