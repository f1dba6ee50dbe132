"""What a GPU card is: its memory, how it may be cut, and the names Kubernetes gives the parts. Pure, no I/O.

Sources: NVIDIA's MIG user guide (r580), `nvidia-smi mig -lgip/-lgipp` output for A100, H100 and A30, the
device plugin's resource names (v0.20) and GPU feature discovery's labels. Placements of H200 and later class A
cards are inferred from their equal instance counts.
"""

from portal.gpus.cards import CARDS, Card, card_by_product
from portal.gpus.mig import Placement, Profile, is_valid_geometry, place
from portal.gpus.resources import SHARED_GPU, WHOLE_GPU, is_gpu_resource, mig_resource, mig_strategy_labels

__all__ = [
    "CARDS",
    "SHARED_GPU",
    "WHOLE_GPU",
    "Card",
    "Placement",
    "Profile",
    "card_by_product",
    "is_gpu_resource",
    "is_valid_geometry",
    "mig_resource",
    "mig_strategy_labels",
    "place",
]
