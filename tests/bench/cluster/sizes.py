"""How large the figures of one run are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """`lives` rounds of each kind, `rounds` of everything that takes turns, `idle` running workloads, `mirrored` ones
    in the large mirror, `burst` at once, `rate` admissions a second."""

    lives: int = 3
    rounds: int = 5
    idle: int = 2000
    mirrored: int = 10_000
    burst: int = 500
    rate: float = 20.0
    streams: int = 1000
    down: float = 60.0
