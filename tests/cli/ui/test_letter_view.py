"""What is shown of a dead letter."""

from __future__ import annotations

import pytest

from frazil.cli.ui.letter_view import print_letter
from frazil.cli.ui.output import Output
from frazil.pipeline.letters.letter import Letter

NAME = "sales.backfill-0123456789ab"


def shown(capsys: pytest.CaptureFixture[str], letter: Letter) -> list[str]:
    print_letter(letter, True, Output.TABLE, {}, raw=False)
    return capsys.readouterr().out.splitlines()


def test_bytes_are_shown_and_not_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    text = b"a text that is longer than a line " * 5
    headers = (("plain", text), ("binary", bytes(range(20))), ("none", None))
    lines = shown(capsys, Letter("t-dlq", 0, 7, 0, b"\0\1k", b'{"a":1}', headers))
    assert lines[2:] == [
        "key          00000000  00 01 6b  ..k",
        f"header plain {text.decode()}",
        "header binary",
        "  00000000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................",
        f"  00000010  {'10 11 12 13':<47}  ....",
        "header none  null",
        "value",
        "  {",
        '    "a": 1',
        "  }",
    ]


def test_of_a_large_value_the_beginning_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    *_, value, more = shown(capsys, Letter("t-dlq", 0, 7, 0, None, b"x" * 20_000))
    assert value == f"value        {'x' * 16_384}"
    assert more == "  … the first 16,384 of 20,000 bytes; -o json has all"


def test_a_dead_letter_of_a_backfill_is_one_of_its_connector(capsys: pytest.CaptureFixture[str]) -> None:
    letter = Letter("t-dlq", 0, 7, 0, None, b"x", context={"connector.name": NAME})
    assert (letter.connector, letter.backfill) == ("sales", NAME)
    assert shown(capsys, letter)[2:4] == ["connector    sales", f"backfill     {NAME}"]
    own = Letter("t-dlq", 0, 7, 0, None, b"x", context={"connector.name": "sales.backfill-may"})
    assert (own.connector, own.backfill) == ("sales.backfill-may", "")
