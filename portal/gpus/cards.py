"""The cards: product label, memory and MIG profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from portal.gpus.mig import Profile


@dataclass(frozen=True)
class Card:
    """One card model. `product` is the node label `nvidia.com/gpu.product`; memory is what the driver reports."""

    key: str
    product: str
    family: str
    memory_mib: int
    compute_capability: tuple[int, int]
    multiprocessors: int
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    @property
    def can_mig(self) -> bool:
        return bool(self.profiles)


# (compute slices, width in memory slices, starts, maximum) in the order of the names given to `_seven_slices`.
_CLASS_A = (
    (1, 1, (0, 1, 2, 3, 4, 5, 6), 7),
    (1, 1, (0, 1, 2, 3, 4, 5, 6), 1),
    (1, 2, (0, 2, 4, 6), 4),
    (2, 2, (0, 2, 4), 3),
    (3, 4, (0, 4), 2),
    (4, 4, (0,), 1),
    (7, 8, (0,), 1),
)
_CLASS_B = (
    (1, 1, (0, 1, 2, 3), 4),
    (1, 1, (0, 1, 2, 3), 1),
    (2, 2, (0, 2), 2),
    (2, 2, (0, 2), 1),
    (4, 4, (0,), 1),
)


def _profiles(shape: tuple[tuple[int, int, tuple[int, ...], int], ...], *names: str) -> dict[str, Profile]:
    return {
        name: Profile(name, compute, width, starts, maximum, _named_gb(name) * 1024)
        for name, (compute, width, starts, maximum) in zip(names, shape, strict=True)
    }


def _named_gb(name: str) -> int:
    return int(name.split(".", 1)[1].split("gb", 1)[0])


_CARDS = (
    Card(
        "a30-24", "NVIDIA-A30", "ampere", 24576, (8, 0), 56,
        _profiles(_CLASS_B, "1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb"),
    ),
    Card(
        "a100-40", "NVIDIA-A100-SXM4-40GB", "ampere", 40960, (8, 0), 108,
        _profiles(_CLASS_A, "1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"),
    ),
    Card(
        "a100-80", "NVIDIA-A100-SXM4-80GB", "ampere", 81920, (8, 0), 108,
        _profiles(_CLASS_A, "1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    ),
    Card(
        "h100-80", "NVIDIA-H100-80GB-HBM3", "hopper", 81559, (9, 0), 132,
        _profiles(_CLASS_A, "1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    ),
    Card(
        "h200-141", "NVIDIA-H200", "hopper", 143771, (9, 0), 132,
        _profiles(_CLASS_A, "1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"),
    ),
    Card("l40s-48", "NVIDIA-L40S", "ada-lovelace", 46068, (8, 9), 142),
)  # fmt: skip

CARDS: Mapping[str, Card] = {card.key: card for card in _CARDS}


def card_by_product(product: str) -> Card | None:
    """The card whose node label `nvidia.com/gpu.product` this is, with or without a sharing suffix."""
    plain = product.removesuffix("-SHARED")
    return next((card for card in _CARDS if card.product == plain), None)
