"""What the jobs room says no with. Stdlib and kernel errors only."""

from __future__ import annotations

from portal.kernel.errors import Conflict


class LostRace(Conflict):
    """Somebody changed the workload in the meantime (409); reconcilers look again."""

    code = "changed_meanwhile"


class NotAllowed(Conflict):
    """The table of states has no such move (409)."""

    code = "state"

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(f"{origin} -> {target}")
        self.origin = origin
        self.target = target


class NameTaken(Conflict):
    """Another workload of this team and kind holds the name (409); `holder` is its id."""

    code = "name_taken"

    def __init__(self, message: object, *, holder: str = "") -> None:
        super().__init__(message)
        self.holder = holder


class StopFirst(Conflict):
    """This changes only while the workload is stopped or final (409)."""

    code = "stop_first"


class AlreadyFinal(Conflict):
    """It has ended by itself: there is nothing to stop (409)."""

    code = "already_final"
