"""The names Kubernetes and Turno use for parts of a card."""

import pytest

from portal.gpus import CARDS, card_by_product, is_gpu_resource, mig_resource, mig_strategy_labels


@pytest.mark.parametrize(
    ("profile", "resource"),
    [("1g.10gb", "nvidia.com/mig-1g.10gb"), ("1g.10gb+me", "nvidia.com/mig-1g.10gb.me")],
)
def test_a_profile_names_its_resource(profile: str, resource: str) -> None:
    assert mig_resource(profile) == resource
    assert is_gpu_resource(resource)


@pytest.mark.parametrize(
    ("name", "is_gpu"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-3g.40gb", True),
        ("nvidia.com/mig.config", False),
        ("cpu", False),
        ("amd.com/gpu", False),
    ],
)
def test_which_resources_are_gpus(name: str, is_gpu: bool) -> None:
    assert is_gpu_resource(name) is is_gpu


def test_a_card_is_found_by_its_node_label_even_when_it_is_shared() -> None:
    assert card_by_product("NVIDIA-L40S") == card_by_product("NVIDIA-L40S-SHARED") == CARDS["l40s-48"]
    assert card_by_product("NVIDIA-Unknown") is None
    assert not CARDS["l40s-48"].can_mig


def test_labels_of_a_cut_card() -> None:
    card = CARDS["h100-80"]
    labels = mig_strategy_labels(card.profiles, {"3g.40gb": 1}, card.product)
    assert labels["nvidia.com/mig-3g.40gb.count"] == "1"
    assert labels["nvidia.com/mig-3g.40gb.product"] == "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"
    assert labels["nvidia.com/mig-3g.40gb.slices.gi"] == "3"
