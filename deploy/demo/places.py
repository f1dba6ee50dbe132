"""Where the demo keeps things, on which ports it listens, and the environment its processes get."""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOCKET_PATH_LIMIT = 100  # the kernel's own is 107


@dataclass(frozen=True)
class Ports:
    """Loopback ports, derived from the web's unless given one by one."""

    web: int
    cluster: int
    data: int
    control: int

    def named(self) -> dict[str, int]:
        return {
            "PORT": self.web,
            "CLUSTER_PORT": self.cluster,
            "DATA_PORT": self.data,
            "CONTROL_PORT": self.control,
        }


@dataclass(frozen=True)
class Places:
    """Files of one demo. `folder` holds all that `make demo-reset` forgets."""

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder.with_name(self.folder.name + ".lock")

    @property
    def database(self) -> Path:
        return self.folder / "turno.sqlite3"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def credentials(self) -> Path:
        return self.folder / "credentials.json"

    @property
    def cluster_state(self) -> Path:
        return self.folder / "cluster.jsonl"

    @property
    def broker(self) -> Path:
        return self.folder / "broker"

    @property
    def schedule(self) -> Path:
        return self.folder / "schedule"

    @property
    def socket(self) -> Path:
        """The broker's socket; in the temporary folder where the checkout's path is too long for a socket."""
        usual = self.broker / "valkey.sock"
        if len(str(usual)) <= SOCKET_PATH_LIMIT:
            return usual
        digest = hashlib.sha256(str(usual).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"turno-{digest}.sock"

    def create(self) -> None:
        for folder in (self.folder, self.logs, self.broker, self.schedule):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def secret_key(self) -> str:
        """The demo's own secret, made at the first start. OSError where the folder cannot be written."""
        file = self.folder / "secret_key"
        if not file.exists() or not file.stat().st_size:
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(50))
        return file.read_text()


def ports() -> Ports:
    """Ports from PORT, CLUSTER_PORT, DATA_PORT and CONTROL_PORT; ValueError names the variable that is no port."""
    web = _port("PORT", 8000)
    return Ports(web, _port("CLUSTER_PORT", web + 1), _port("DATA_PORT", web + 2), _port("CONTROL_PORT", web + 3))


def _port(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError(f"{name} must be a port between 1 and 65535, not {text!r}")
    return int(text)


def environment(places: Places, numbers: Ports, around: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What every process of the demo finds in its environment; a TURNO_ variable set by the person wins.

    Compiled modules are kept even where the person's shell forbids it: eight processes that compile everything anew at
    every start take a minute of a small machine.
    """
    demo = {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "PYTHONUNBUFFERED": "1",
        "TURNO_DEMO": "1",
        "TURNO_DEMO_FOLDER": str(places.folder),
        "TURNO_SECRET_KEY": places.secret_key(),
        "TURNO_DATABASE_URL": f"sqlite:///{places.database}",
        "TURNO_BROKER_URL": f"redis+socket://{places.socket}?virtual_host=0",
        "TURNO_PUBLIC_URL": f"http://127.0.0.1:{numbers.web}",
        "TURNO_LOG_JSON": "0",
    }
    around = {key: value for key, value in around.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**around, **demo, **{key: value for key, value in around.items() if key.startswith("TURNO_")}}
