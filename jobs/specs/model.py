"""What a workload is, after validation: one frozen shape per kind. Quantities stay as they were typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class Common(ABC):
    """What all kinds have. `gpus`: units of the flavor per node; `cpu`, `memory`: Kubernetes quantities; seconds."""

    kind: ClassVar[str]
    name: str
    flavor: str
    gpus: int
    cpu: str
    memory: str
    image: str
    project: str = ""
    description: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    priority: str = ""
    max_duration: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    @abstractmethod
    def variant(self) -> str:
        """Which builder makes it."""

    @property
    def pods(self) -> int:
        """How many pods hold quota at the same time."""
        return 1

    @property
    def units(self) -> int:
        """Units of the flavor over all pods."""
        return self.gpus * self.pods


@dataclass(frozen=True, kw_only=True)
class Notebook(Common):
    kind: ClassVar[str] = "notebook"
    ide: str = "jupyterlab"
    storage: str
    idle_timeout: int | None = None

    @property
    def variant(self) -> str:
        return self.ide


@dataclass(frozen=True, kw_only=True)
class Training(Common):
    kind: ClassVar[str] = "training"
    framework: str = "job"
    nodes: int = 1
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    retries: int = 0
    checkpoint_path: str = ""
    min_nodes: int | None = None
    grace_period: int | None = None

    @property
    def variant(self) -> str:
        return self.framework

    @property
    def pods(self) -> int:
        return self.nodes


@dataclass(frozen=True, kw_only=True)
class Endpoint(Common):
    kind: ClassVar[str] = "endpoint"
    model: str
    runtime: str = "vllm-plain"
    min_replicas: int = 1
    max_replicas: int = 1
    scale_to_zero_after: int | None = None
    args: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        return self.runtime

    @property
    def pods(self) -> int:
        return self.min_replicas


Spec = Notebook | Training | Endpoint
KINDS: Mapping[str, type[Notebook] | type[Training] | type[Endpoint]] = {
    "notebook": Notebook,
    "training": Training,
    "endpoint": Endpoint,
}


def to_json(spec: Spec) -> dict[str, Any]:
    """The spec as the JSON that a workload and its runs keep."""
    data = asdict(spec)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def from_json(kind: str, data: Mapping[str, Any]) -> Spec:
    """The spec that `to_json` wrote; fields that later versions dropped are ignored."""
    known = {one.name for one in fields(KINDS[kind])}
    return make(kind, {name: tuple(v) if isinstance(v, list) else v for name, v in data.items() if name in known})


def make(kind: str, values: Mapping[str, Any]) -> Spec:
    """The kind's shape of these fields."""
    shape: Callable[..., Spec] = KINDS[kind]
    return shape(**values)
