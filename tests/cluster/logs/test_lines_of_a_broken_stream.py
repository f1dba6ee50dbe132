"""However a log arrives and breaks off, every line is there once, in order, with replacement only for bad bytes."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from portal.cluster.capture.lines import LONG_LINE, LineReader, Piece, Resume

GLYPH = "█"


def stamp(second: int, nanos: int = 0) -> str:
    return f"2026-12-01T09:{second // 60:02d}:{second % 60:02d}.{nanos:09d}Z"


def line(second: int, text: bytes | str, nanos: int = 0) -> bytes:
    return f"{stamp(second, nanos)} ".encode() + (text.encode() if isinstance(text, str) else text) + b"\n"


def read(data: bytes, resume: Resume | None = None, *, ends: bool = True, cuts: tuple[int, ...] = ()) -> list[Piece]:
    reader = LineReader(resume)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [p for start, end in itertools.pairwise(edges) for p in reader.feed(data[start:end])]
    return pieces + (list(reader.finish()) if ends else [])


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def served(data: bytes, resume: Resume) -> bytes:
    """What a server gives for `since`: lines of that second or later, each judged by itself."""
    if not resume.stamp:
        return data
    found = [raw for raw in data.splitlines(keepends=True) if raw[:19].decode() >= resume.since[:19]]
    return b"".join(found)


def test_lines_lose_their_stamps_and_keep_their_seconds() -> None:
    pieces = read(line(3, "one") + line(4, "two"))

    assert text(pieces) == "one\ntwo\n"
    assert pieces[1].second - pieces[0].second == 1


def test_a_stamp_of_another_zone_is_the_same_moment() -> None:
    [here] = read(line(3, "x"))
    [there] = read(b"2026-12-01T10:00:03.5+01:00 x\n")

    assert there.second == here.second


@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=6))
def test_arrival_in_any_pieces_gives_the_same_text(data: bytes, cuts: list[int]) -> None:
    log = line(1, data.replace(b"\n", b"")) + line(2, GLYPH * 20)

    assert text(read(log, cuts=tuple(cuts))) == text(read(log))


def test_only_bad_bytes_are_replaced_and_nul_is_visible() -> None:
    assert text(read(line(1, b"\xff\xfe\x00\x80" + GLYPH.encode()))) == "\ufffd\ufffd␀\ufffd█\n"


def test_half_a_glyph_at_the_very_end_is_one_replacement() -> None:
    data = line(1, GLYPH)[:-2]

    assert text(read(data)) == "\ufffd"


def test_a_glyph_across_the_border_of_a_long_lines_pieces_is_whole() -> None:
    body = GLYPH * LONG_LINE
    pieces = read(line(1, body), cuts=tuple(range(1, 3 * LONG_LINE, 10_007)))

    assert len(pieces) > 2
    assert text(pieces) == body + "\n"


@given(st.integers(0, 59), st.integers(1, 5))
def test_resuming_after_any_line_repeats_and_loses_nothing(after: int, per_second: int) -> None:
    log = b"".join(line(n // per_second, f"line {n}", nanos=n) for n in range(60))
    first = read(log, ends=False)[: after + 1]
    resume = first[-1].resume
    rest = read(served(log, resume), resume)

    assert text(first) + text(rest) == text(read(log))
    assert not any(piece.gap for piece in rest)


@given(st.permutations(range(12)), st.integers(0, 11))
def test_stamps_a_little_out_of_order_are_resumed_all_the_same(order: list[int], after: int) -> None:
    log = b"".join(line(5 + n // 6, f"line {n}", nanos=n) for n in order)
    first = read(log, ends=False)[: after + 1]
    resume = first[-1].resume
    rest = read(served(log, resume), resume)

    assert text(first) + text(rest) == text(read(log))


@given(st.integers(0, 5))
def test_resuming_inside_a_very_long_line_repeats_nothing_of_it(after: int) -> None:
    log = line(1, "short") + line(2, GLYPH * LONG_LINE * 2) + line(3, "end")
    pieces = read(log, cuts=tuple(range(1, len(log), LONG_LINE + 1)))
    first = pieces[: after + 1]
    resume = first[-1].resume
    rest = read(served(log, resume), resume)

    assert text(first) + text(rest) == text(pieces)


def test_resuming_inside_a_very_long_first_line_repeats_nothing_of_it() -> None:
    log = line(2, GLYPH * LONG_LINE * 2)
    pieces = read(log, cuts=(LONG_LINE + 50,))
    rest = read(served(log, pieces[0].resume), pieces[0].resume)

    assert text(pieces[:1]) + text(rest) == text(pieces)


def test_what_was_rotated_away_meanwhile_is_a_gap() -> None:
    log = b"".join(line(n, f"line {n}") for n in range(20))
    resume = read(log[: len(line(0, "line 0")) * 3], ends=False)[-1].resume
    rotated = b"".join(line(n, f"line {n}") for n in range(10, 20))
    rest = read(rotated, resume)

    assert rest[0].gap
    assert not rest[1].gap
    assert text(rest).startswith("line 10\n")


def test_a_runtimes_words_in_the_logs_place_are_no_log() -> None:
    reader = LineReader()
    pieces = [*reader.feed(b"unable to retrieve container logs for containerd://abc"), *reader.finish()]

    assert pieces == []
    assert reader.notice.startswith("unable to retrieve")


def test_carriage_returns_of_progress_bars_stay_in_their_line() -> None:
    assert text(read(line(1, "10%\r20%\r30%"))) == "10%\r20%\r30%\n"
