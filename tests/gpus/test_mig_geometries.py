"""Which ways of cutting a card are possible: counts computed from the placement rules, and single shapes."""

from itertools import product

import pytest

from portal.gpus import CARDS, is_valid_geometry, place

BASE = ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")


def geometries(card: str, names: tuple[str, ...]) -> list[dict[str, int]]:
    profiles = CARDS[card].profiles
    ranges = [range(profiles[name].maximum + 1) for name in names]
    found = [dict(zip(names, counts, strict=True)) for counts in product(*ranges) if any(counts)]
    return [counts for counts in found if is_valid_geometry(profiles, counts)]


def maximal(valid: list[dict[str, int]]) -> list[dict[str, int]]:
    def below(small: dict[str, int], large: dict[str, int]) -> bool:
        return small != large and all(small[name] <= large[name] for name in small)

    return [one for one in valid if not any(below(one, other) for other in valid)]


def test_a_seven_slice_card_has_37_geometries_of_which_12_are_maximal() -> None:
    valid = geometries("h100-80", BASE)
    assert len(valid) == 37
    assert len(maximal(valid)) == 12


def test_double_memory_and_media_profiles_widen_the_choice() -> None:
    with_double = geometries("h100-80", (*BASE, "1g.20gb"))
    assert (len(with_double), len(maximal(with_double))) == (77, 28)
    with_media = geometries("h100-80", (*BASE, "1g.20gb", "1g.10gb+me"))
    assert (len(with_media), len(maximal(with_media))) == (127, 44)


def test_a_four_slice_card_has_9_geometries_without_media_and_21_with() -> None:
    plain = geometries("a30-24", ("1g.6gb", "2g.12gb", "4g.24gb"))
    assert (len(plain), len(maximal(plain))) == (9, 4)
    every = geometries("a30-24", tuple(CARDS["a30-24"].profiles))
    assert (len(every), len(maximal(every))) == (21, 9)


@pytest.mark.parametrize(
    ("counts", "fits"),
    [
        ({"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}, True),
        ({"3g.40gb": 2}, True),
        ({"3g.40gb": 2, "1g.10gb": 1}, False),
        ({"4g.40gb": 1, "3g.40gb": 1}, True),
        ({"4g.40gb": 2}, False),
        ({"1g.10gb": 8}, False),
        ({"1g.10gb": -1}, False),
        ({"1g.5gb": 1}, False),
    ],
)
def test_whether_an_h100_can_be_cut_so(counts: dict[str, int], fits: bool) -> None:
    assert is_valid_geometry(CARDS["h100-80"].profiles, counts) is fits


def test_placements_never_overlap() -> None:
    profiles = CARDS["h100-80"].profiles
    placed = place(profiles, {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2})
    assert placed is not None
    taken = [slice_ for one in placed for slice_ in range(one.start, one.start + profiles[one.profile].width)]
    assert len(taken) == len(set(taken)) == 8
