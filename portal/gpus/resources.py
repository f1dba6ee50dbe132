"""Names of GPU resources and node labels (device plugin and GPU feature discovery, `mig.strategy: mixed`)."""

import re
from collections.abc import Mapping

from portal.gpus.mig import Profile

WHOLE_GPU = "nvidia.com/gpu"
SHARED_GPU = "nvidia.com/gpu.shared"

_GPU_RESOURCE = re.compile(r"^nvidia\.com/(gpu(\.shared)?|mig-\d+g\.\d+gb[a-z.-]*)$")


def mig_resource(profile: str) -> str:
    """The extended resource of a MIG profile: `1g.10gb+me` is `nvidia.com/mig-1g.10gb.me`."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def is_gpu_resource(name: str) -> bool:
    """Whether a container resource name stands for a whole card, a shared one or a MIG instance."""
    return _GPU_RESOURCE.match(name) is not None


def mig_strategy_labels(profiles: Mapping[str, Profile], counts: Mapping[str, int], product: str) -> dict[str, str]:
    """The node labels that GPU feature discovery writes for each profile present on a node."""
    labels: dict[str, str] = {}
    for name, count in counts.items():
        profile, key = profiles[name], mig_resource(name)
        labels[f"{key}.count"] = str(count)
        labels[f"{key}.memory"] = str(profile.memory_mib)
        labels[f"{key}.product"] = f"{product}-MIG-{name.replace('+', '.')}"
        labels[f"{key}.replicas"] = "1"
        labels[f"{key}.slices.gi"] = str(profile.compute_slices)
        labels[f"{key}.slices.ci"] = str(profile.compute_slices)
    return labels
