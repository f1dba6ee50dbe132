"""The store's file: one JSON record a line, appended at every write, rewritten whole when the store starts.

A record is `{"rv": n, "put": <object>}` or `{"rv": n, "gone": [kind, namespace, name]}`. Each is written by one
system call, so a killed process leaves at most one torn line, the last, which reading drops.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson

from portal.cluster.simulated.objects import Key, Obj, key_of


class Journal:
    """Raises OSError when the file cannot be read or written, ValueError when a line other than the last is broken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self.appended = 0

    def load(self) -> tuple[int, dict[Key, Obj]]:
        """(the last resourceVersion, the objects)."""
        rv = 0
        objects: dict[Key, Obj] = {}
        if not self._path.exists():
            return rv, objects
        whole = self._path.read_bytes().rpartition(b"\n")[0]  # what follows the last newline is torn, or nothing
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise ValueError(f"{self._path}: line {number} is not a record of the simulated cluster") from error
            rv = max(rv, record["rv"])
            if "put" in record:
                objects[key_of(record["put"])] = record["put"]
            elif "gone" in record:
                kind, namespace, name = record["gone"]
                objects.pop((kind, namespace, name), None)
        return rv, objects

    def compact(self, rv: int, objects: Iterable[Obj]) -> None:
        """Write the file anew (aside, then renamed) and keep it open for appending."""
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        aside = self._path.with_name(self._path.name + ".new")
        with aside.open("wb") as file:
            file.write(orjson.dumps({"rv": rv}) + b"\n")
            for obj in objects:
                file.write(orjson.dumps({"rv": int(obj["metadata"]["resourceVersion"]), "put": obj}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._path)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self.appended = 0

    def put(self, rv: int, obj: Obj) -> None:
        self._append({"rv": rv, "put": obj})

    def gone(self, rv: int, key: Key) -> None:
        self._append({"rv": rv, "gone": list(key)})

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _append(self, record: Obj) -> None:
        if self._fd is None:
            raise ValueError("the journal is closed")
        os.write(self._fd, orjson.dumps(record) + b"\n")
        self.appended += 1
