"""One Kueue: its books, its scheduler and its integrations."""

from __future__ import annotations

from portal.cluster.simulated.controllers.kueue.admission import AdmissionController
from portal.cluster.simulated.controllers.kueue.books import Books
from portal.cluster.simulated.controllers.kueue.jobs import JobIntegration
from portal.cluster.simulated.controllers.kueue.pods import GroupIntegration, PodIntegration
from portal.cluster.simulated.controllers.kueue.queues import QueueController
from portal.cluster.simulated.controllers.kueue.workloads import WorkloadController
from portal.cluster.simulated.controllers.reconciling import Controller
from portal.cluster.simulated.controllers.world import World


class Kueue:
    """`controllers` in the order in which they work."""

    def __init__(self, world: World) -> None:
        self.books = Books(world)
        self.admission = AdmissionController(world, self.books)
        self.workloads = WorkloadController(world, self.books, self.admission)
        self.controllers: tuple[Controller, ...] = (
            QueueController(world, self.books, self.admission),
            JobIntegration(world, self.admission),
            PodIntegration(world),
            GroupIntegration(world, self.admission),
            self.workloads,
            self.admission,
        )
