"""Need of compaction, for whatever files a table has: no services."""

from __future__ import annotations

from collections import Counter
from math import log2

from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.iceberg.changes.compaction import (
    FEWEST,
    FEWEST_POSITIONS,
    MOST_BYTES,
    SHARE,
    Need,
    Positions,
    Stored,
    needed,
)


def stored(name: str, size: int = 1000, gone: int = 0, place: str = "p") -> Stored:
    return Stored(name, place, 1000, size, gone)


def positions(name: str, *applies_to: str, rows: int = 100, place: str = "p") -> Positions:
    return Positions(name, place, rows, frozenset(applies_to))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Stored], list[Positions], frozenset[str]]:
    places = st.sampled_from("pq")
    files = [
        Stored(f"f{number}", draw(places), rows, draw(st.integers(1, MOST_BYTES * 2)), draw(st.integers(0, rows)))
        for number, rows in enumerate(draw(st.lists(st.integers(1, 1000), max_size=15)))
    ]
    found = []
    for number in range(draw(st.integers(0, 12))):
        place = draw(places)
        names = [file.path for file in files if file.place == place]
        applies = draw(st.sets(st.sampled_from(names))) if names else set()
        found.append(Positions(f"d{number}", place, draw(st.integers(1, 10**6)), frozenset(applies)))
    return files, found, frozenset(draw(st.sets(places)))


@given(tables())
def test_what_is_written_again_is_in_bounds(table: tuple[list[Stored], list[Positions], frozenset[str]]) -> None:
    files, found, marked = table
    need = needed(files, found, marked)
    by_path = {file.path: file for file in files}
    written = Counter(path for group in need.groups for path in group)
    assert all(count == 1 for count in written.values())
    assert all(len({by_path[path].place for path in group}) == 1 for group in need.groups)
    assert len(need.groups) == 1 or sum(by_path[path].size for path in written) <= MOST_BYTES
    for group in need.groups:
        many = len(group) >= FEWEST and sum(by_path[path].size for path in group) <= MOST_BYTES
        assert many or all(by_path[path].gone >= SHARE * by_path[path].rows for path in group)
    assert need.folded <= {each.path for each in found}
    assert {each.path for each in found if each.applies_to <= written.keys()} <= need.folded


@given(st.lists(st.integers(1, 10**6), max_size=60))
def test_few_files_are_left(sizes: list[int]) -> None:
    names = [f"f{number}" for number in range(len(sizes))]
    files = [stored(name, size) for name, size in zip(names, sizes, strict=True)]
    found = [positions(f"d{number}", "other", rows=rows) for number, rows in enumerate(sizes)]
    need = needed(files, found, frozenset({"p"}))
    most = log2(max(sizes, default=1) + 1)
    assert len(files) - sum(map(len, need.groups)) < FEWEST + most
    assert len(found) - len(need.folded) < FEWEST_POSITIONS + most


def test_nothing_is_needed_where_little_is_there() -> None:
    files = [stored("big", 10**6, gone=10), *(stored(f"f{number}") for number in range(FEWEST - 1))]
    assert needed(files, [positions("d", "big")], frozenset({"p"})) == Need([])


def test_small_files_become_one_and_the_large_one_stays() -> None:
    files = [stored("big", 10**6), *(stored(f"f{number}") for number in range(FEWEST))]
    need = needed(files, [])
    assert [sorted(group) for group in need.groups] == [[f"f{number}" for number in range(FEWEST)]]


def test_a_file_with_many_deleted_rows_is_written_again_and_its_positions_go() -> None:
    need = needed([stored("a", 10**9, gone=400), stored("b", 10**9)], [positions("d", "a"), positions("e", "a", "b")])
    assert need == Need([["a"]], frozenset({"d"}))


def test_of_files_too_large_for_one_commit_the_neediest_comes_first() -> None:
    files = [stored("less", MOST_BYTES, gone=300), stored("more", MOST_BYTES, gone=900)]
    assert needed(files, []).groups == [["more"]]
    assert needed([files[0]], []).groups == [["less"]]


def test_small_files_of_positions_become_one_with_the_new_one() -> None:
    found = [positions("old", "a", rows=10_000), *(positions(f"d{number}", "a") for number in range(2))]
    assert needed([stored("a")], found, frozenset({"p"})).folded == {"d0", "d1"}
