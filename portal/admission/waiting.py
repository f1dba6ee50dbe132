"""The waiting line of one ClusterQueue: which workload is its head, and which are parked.

A workload that was rejected without hope in a BestEffortFIFO queue is parked together with all of its class
(Kueue's scheduling equivalence), and new ones of the class join them untried, until the cohort's batch un-parks all.
So parking is kept by class, and un-parking costs by class, not by workload.
"""

from heapq import heappop, heappush

from portal.admission.workloads import Order, Shape, Workload


class WaitingClass:
    """The waiting workloads of one shape, in queue order; entries of workloads that left are dropped when met."""

    __slots__ = ("line", "parked")

    def __init__(self) -> None:
        self.line: list[Order] = []
        self.parked = False


class WaitingLine:
    """Waiting workloads of one queue, least `order` first, except that a preemptor may stick to the front.

    `blocked` are the drained ones: not eligible before the queue starts again, whatever un-parks its cohort.
    """

    __slots__ = ("_fronts", "_sticky", "any_parked", "blocked", "classes", "members")

    def __init__(self) -> None:
        self.members: dict[str, Workload] = {}
        self._sticky: str | None = None
        self.blocked: set[str] = set()
        self.any_parked = False
        self.classes: dict[Shape, WaitingClass] = {}
        # A heap that holds at least the front of every class that is not parked; other entries are dropped when met.
        self._fronts: list[Order] = []

    def push(self, workload: Workload) -> None:
        """Let a workload wait: at its place in the order, or parked with its class."""
        if workload.key not in self.members:
            self.members[workload.key] = workload
            self._enter(workload)

    def stick(self, key: str) -> None:
        """Keep a preemptor at the front until it leaves."""
        self._sticky = key

    def unblock(self, workload: Workload) -> None:
        """Make a drained workload eligible again."""
        self.blocked.discard(workload.key)
        self._enter(workload)

    def _enter(self, workload: Workload) -> None:
        if workload.key in self.blocked:
            return
        group = self.classes.get(workload.shape)
        if group is None:
            group = self.classes[workload.shape] = WaitingClass()
        heappush(group.line, workload.order)
        if not group.parked and group.line[0] == workload.order:
            heappush(self._fronts, workload.order)

    def remove(self, key: str) -> None:
        """Take a workload out, wherever it waits."""
        workload = self.members.pop(key, None)
        if self._sticky == key:
            self._sticky = None
        if workload is None:
            return
        group = self.classes.get(workload.shape)
        if group is not None and group.line and group.line[0] == workload.order:
            self._advance(workload.shape, group)

    def _advance(self, shape: Shape, group: WaitingClass) -> None:
        """Drop entries of workloads that left from the front of a class, and note its new front."""
        line, members, blocked = group.line, self.members, self.blocked
        while line:
            workload = members.get(line[0][2])
            if workload is not None and workload.shape is shape and workload.key not in blocked:
                break
            heappop(line)
        if group.parked:
            return
        if line:
            heappush(self._fronts, line[0])
        else:
            del self.classes[shape]

    def head(self) -> Workload | None:
        """The workload to try next, or None when everybody is parked."""
        if self._sticky is not None:
            workload = self.members.get(self._sticky)
            if workload is not None and not self.is_parked(workload):
                return workload
        fronts, members, classes = self._fronts, self.members, self.classes
        while fronts:
            workload = members.get(fronts[0][2])
            if workload is not None and workload.order == fronts[0]:
                group = classes.get(workload.shape)
                if group is not None and not group.parked and workload.key not in self.blocked:
                    return workload
            heappop(fronts)
        return None

    def is_parked(self, workload: Workload) -> bool:
        """Whether it is not tried before something un-parks it."""
        if workload.key in self.blocked:
            return True
        group = self.classes.get(workload.shape)
        return group is not None and group.parked

    def park(self, shape: Shape) -> None:
        """Park a whole class, and who joins it."""
        self.classes[shape].parked = True
        self.any_parked = True

    def unpark(self) -> bool:
        """Make every class eligible again; whether somebody had been parked."""
        moved = False
        self.any_parked = False
        fronts, members = self._fronts, self.members
        for shape, group in list(self.classes.items()):
            if group.parked:
                group.parked = False
                if group.line and group.line[0][2] in members:
                    heappush(fronts, group.line[0])
                else:
                    self._advance(shape, group)
                moved = moved or bool(group.line)
        return moved

    def in_order(self) -> list[Workload]:
        """Everybody who waits here, in the order in which they would be tried."""
        sticky = self._sticky
        return sorted(self.members.values(), key=lambda w: (w.key != sticky, w.order))

    def copy(self) -> "WaitingLine":
        """An independent copy."""
        twin = WaitingLine()
        twin.members = dict(self.members)
        twin._sticky = self._sticky
        twin.blocked = set(self.blocked)
        twin.any_parked = self.any_parked
        twin._fronts = list(self._fronts)
        for shape, group in self.classes.items():
            other = twin.classes[shape] = WaitingClass()
            other.line = list(group.line)
            other.parked = group.parked
        return twin
