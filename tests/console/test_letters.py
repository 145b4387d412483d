"""Dead letters by reason."""

from __future__ import annotations

from frazil.console.letters import reasons, text_of
from frazil.pipeline.letters.letter import Letter


def letter(offset: int, reason: str, connector: str = "orders") -> Letter:
    where = f"topic t, partition 0, offset {offset}"
    context = {
        "connector.name": connector,
        "topic": "t",
        "partition": "0",
        "offset": str(offset),
        "exception.message": f"{where}, column id: {reason}",
    }
    return Letter("t-dlq", 0, offset, 1000 + offset, None, b"{}", (), context)


def test_letters_of_one_connector_and_reason_are_counted_together_and_the_newest_stands_first() -> None:
    found = reasons([letter(1, "no number (1)"), letter(2, "too long"), letter(3, "no number (3)")])
    assert [(one.text, one.count) for one in found] == [("column id: no number", 2), ("column id: too long", 1)]
    assert [one.offset for one in found[0].letters] == [3, 1]


def test_connectors_are_told_apart() -> None:
    assert len(reasons([letter(1, "no number"), letter(2, "no number", "payments")])) == 2


def test_only_some_letters_of_a_reason_are_kept() -> None:
    [found] = reasons(letter(offset, "no number") for offset in range(50))
    assert (found.count, len(found.letters)) == (50, 20)


def test_bytes_that_are_no_text_are_shown_as_escapes_and_long_ones_are_cut() -> None:
    assert text_of(b"\xffa") == "\\xffa"
    assert text_of(None) == "null"
    assert text_of(b"x" * 3000).endswith("… (3,000 bytes)")
