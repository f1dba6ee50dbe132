"""MIG placements: an instance takes `width` consecutive memory slices from one of its allowed starts.

Two instances fit when their slices do not overlap and no profile exceeds its maximum; a geometry is valid when some
choice of starts exists for all of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One way to cut an instance out of a card. `memory_mib` is the rounded memory in the profile's name."""

    name: str
    compute_slices: int
    width: int
    starts: tuple[int, ...]
    maximum: int
    memory_mib: int


@dataclass(frozen=True)
class Placement:
    """One instance at its first memory slice."""

    profile: str
    start: int


def place(profiles: Mapping[str, Profile], counts: Mapping[str, int]) -> tuple[Placement, ...] | None:
    """A non-overlapping choice of starts for every instance, widest first, or None when there is none.

    `counts` maps profile names to a number of instances; an unknown profile cannot be placed.
    """
    wanted: list[Profile] = []
    for name, count in counts.items():
        profile = profiles.get(name)
        if profile is None or count < 0 or count > profile.maximum:
            return None
        wanted.extend([profile] * count)
    wanted.sort(key=lambda profile: (-profile.width, profile.name))
    return _place(tuple(wanted), frozenset())


def is_valid_geometry(profiles: Mapping[str, Profile], counts: Mapping[str, int]) -> bool:
    """Whether a card can be cut into all of `counts` at once."""
    return place(profiles, counts) is not None


def _place(wanted: tuple[Profile, ...], taken: frozenset[int]) -> tuple[Placement, ...] | None:
    if not wanted:
        return ()
    profile, rest = wanted[0], wanted[1:]
    for start in profile.starts:
        slices = frozenset(range(start, start + profile.width))
        if slices & taken:
            continue
        others = _place(rest, taken | slices)
        if others is not None:
            return (Placement(profile.name, start), *others)
    return None
