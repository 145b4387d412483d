"""Dead letters by reason."""

from __future__ import annotations

import pytest

from frazil.console.letters import places_of, places_text, reasons, text_of
from frazil.errors import UsageError
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.ranges import Ranges


def letter(offset: int, reason: str, connector: str = "orders", partition: int = 0) -> Letter:
    where = f"topic t, partition {partition}, offset {offset}"
    context = {
        "connector.name": connector,
        "topic": "t",
        "partition": str(partition),
        "offset": str(offset),
        "exception.message": f"{where}, column id: {reason}",
    }
    return Letter("t-dlq", partition, offset, 1000 + offset, None, b"{}", (), context)


def test_letters_of_one_connector_and_reason_are_counted_together_and_the_newest_stands_first() -> None:
    found = reasons([letter(1, "no number (1)"), letter(2, "too long"), letter(3, "no number (3)")])
    assert [(one.text, len(one.positions)) for one in found] == [
        ("column id: no number", 2),
        ("column id: too long", 1),
    ]
    assert [one.position[2] for one in found[0].letters] == [3, 1]


def test_a_change_of_the_table_is_proposed_where_its_table_is_known() -> None:
    way = (
        "not a whole number for type long; frazil.schema.path.id=double takes such values too, in a table that is made"
    )
    [known] = reasons([letter(1, f"{way} with it (1.5)")], {"orders": "shop.orders"})
    assert known.remedy == "frazil tables remake shop.orders -s frazil.schema.path.id=double"
    [unknown] = reasons([letter(1, f"{way} with it (1.5)")])
    assert unknown.remedy == ""


def test_connectors_are_told_apart() -> None:
    assert len(reasons([letter(1, "no number"), letter(2, "no number", "payments")])) == 2


def test_all_letters_of_a_reason_are_named_and_the_newest_are_shown() -> None:
    [found] = reasons(letter(offset, "no number", partition=offset % 2) for offset in range(50))
    assert [one.position[2] for one in found.letters] == list(range(49, 29, -1))
    assert {key: list(ranges) for key, ranges in places_of([found.places]).items()} == {
        ("t-dlq", 0): list(range(0, 50, 2)),
        ("t-dlq", 1): list(range(1, 50, 2)),
    }


def test_what_was_ticked_twice_is_meant_once() -> None:
    [found] = reasons([letter(1, "no number"), letter(2, "no number")])
    assert places_of([found.places, found.letters[0].place]) == {("t-dlq", 0): Ranges([(1, 2)])}
    assert places_text({("a.b-dlq", 3): Ranges.of([5, 7, 8])}) == "a.b-dlq/3/5,7-8"


@pytest.mark.parametrize("text", ["t-dlq", "t-dlq/0", "t-dlq/x/5", "t-dlq/0/9-5", "t-dlq/0/-5"])
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no dead letters"):
        places_of([text])


def test_bytes_are_shown_as_json_as_text_or_in_hexadecimal_and_long_ones_are_cut() -> None:
    assert text_of(b'{"a":[1]}') == '{"a":[1]}'
    assert text_of(b'{"a":"%s"}' % (b"x" * 120)) == '{\n  "a": "' + "x" * 120 + '"\n}'
    assert text_of(b"caf\xc3\xa9 \xff") == "café \\xff"
    assert text_of(b"\x00\x01\x02") == "00000000  00 01 02  ..."
    assert text_of(None) == "null"
    assert text_of(b"x" * 3000).endswith("… (3,000 bytes)")


def test_credentials_in_reasons_and_records_are_hidden() -> None:
    signed = 'it is "/a?X-Amz-Signature=4711swordfish&b=1"'
    one = letter(1, signed)
    [found] = reasons([Letter(one.topic, 0, 1, 0, None, b'{"token": "swordfish"}', (), one.context)])
    for shown in (found.text, found.letters[0].reason, found.letters[0].value):
        assert "swordfish" not in shown and "REDACTED" in shown
