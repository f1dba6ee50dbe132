"""Files, ports and processes of one running control plane."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

NAME = "turno"
ENDS_WITHIN = 10.0


@dataclass(frozen=True)
class Ports:
    """Loopback ports; the API server's is the one that a person may choose."""

    api: int
    etcd: int
    etcd_peer: int
    controllers: int
    scheduler: int
    kwok: int
    health: int
    metrics: int
    webhook: int
    visibility: int

    @classmethod
    def free(cls, api: int = 0) -> "Ports":
        """Ports that nobody listens at now. Raises OSError where the chosen one is taken."""
        with ExitStack() as held:
            numbers = []
            for field in fields(cls):
                probe = held.enter_context(socket.socket())
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", api if field.name == "api" else 0))
                numbers.append(int(probe.getsockname()[1]))
        return cls(*numbers)


@dataclass(frozen=True)
class Places:
    """Everything that one control plane keeps lies in `folder`, and nothing else does."""

    folder: Path

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def workdir(self) -> Path:
        """kwokctl's own."""
        return self.folder / "kwok"

    @property
    def cluster(self) -> Path:
        return self.workdir / "clusters" / NAME

    @property
    def logs(self) -> Path:
        return self.cluster / "logs"

    @property
    def container_log(self) -> Path:
        return self.folder / "container.log"

    @property
    def kueue(self) -> Path:
        """The root of the Kueue manager's files."""
        return self.folder / "kueue"

    @property
    def kueue_log(self) -> Path:
        return self.folder / "kueue.log"

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    def remember(self, ports: Ports, build: str) -> None:
        self.state.write_text(json.dumps({"ports": asdict(ports), "build": build}))

    def recall(self) -> tuple[Ports, str] | None:
        """Ports and build of the last start; None where there was none, or its file is torn."""
        try:
            told = json.loads(self.state.read_text())
            return Ports(**told["ports"]), str(told["build"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def processes(self, program: str = "") -> list[int]:
        """Living processes that belong to this folder: their arguments name it, or they run in it as their root."""
        return [number for number in _numbers() if _belongs(number, self.folder, program)]

    def end(self, numbers: list[int]) -> None:
        """SIGTERM, then SIGKILL for those that do not mind it."""
        for number in numbers:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)
        limit = time.monotonic() + ENDS_WITHIN
        while left := [number for number in numbers if _alive(number)]:
            if time.monotonic() > limit:
                for number in left:
                    with suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
                limit = time.monotonic() + ENDS_WITHIN
            time.sleep(0.05)


def _numbers() -> Iterator[int]:
    mine = os.getpid()
    yield from (
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != mine
    )


def _belongs(number: int, folder: Path, program: str) -> bool:
    """Only programs of a build are ever ours: whoever merely names the folder (an editor, a shell) is not."""
    with suppress(OSError):
        entry = Path(f"/proc/{number}")
        runs = Path(str((entry / "exe").readlink()).removesuffix(" (deleted)"))
        if not (runs.is_relative_to(folder) or "control-plane" in runs.parts) or (program and runs.name != program):
            return False
        words = (entry / "cmdline").read_bytes().decode(errors="replace")
        return str(folder) in words or (entry / "root").readlink().is_relative_to(folder)
    return False


def _alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}
