"""Kubernetes' own controllers, in the order in which they work; Kueue's come before the scheduler."""

from __future__ import annotations

from portal.cluster.simulated.controllers.deployments import DeploymentController
from portal.cluster.simulated.controllers.jobs import JobController
from portal.cluster.simulated.controllers.kubelet import Kubelet
from portal.cluster.simulated.controllers.nodes import NodeController
from portal.cluster.simulated.controllers.reconciling import Controller
from portal.cluster.simulated.controllers.replicasets import ReplicaSetController
from portal.cluster.simulated.controllers.scheduling import Scheduler
from portal.cluster.simulated.controllers.statefulsets import StatefulSetController
from portal.cluster.simulated.controllers.volumes import VolumeController
from portal.cluster.simulated.controllers.world import World


def with_kubernetes(world: World, queueing: tuple[Controller, ...]) -> tuple[Controller, ...]:
    """All controllers of a cluster in which `queueing` decides what may start."""
    return (
        NodeController(world),
        VolumeController(world),
        JobController(world),
        StatefulSetController(world),
        DeploymentController(world),
        ReplicaSetController(world),
        *queueing,
        Scheduler(world),
        Kubelet(world),
    )
