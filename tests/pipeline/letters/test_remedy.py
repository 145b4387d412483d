from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.letters.remedy import remedy


def refused(path: str, reason: str, suits: str) -> tuple[str, str]:
    error = ConversionError(path, reason, suits).with_way_on()
    return error.path, error.reason


@pytest.mark.parametrize(
    ("path", "reason", "suits", "command"),
    [
        ("price", "not a whole number for type long (12.5)", "double",
         "frazil tables remake shop.orders -s frazil.schema.path.price=double"),
        ("price", "too large for type int (3000000000)", "long", "frazil tables alter shop.orders --widen price=long"),
        ("tags[2]", "not a number for type int (x)", "string",
         "frazil tables remake shop.orders -s frazil.schema.path.tags.element=string"),
        ("price", "too many digits for type int", "decimal(10,2)",
         "frazil tables remake shop.orders -s 'frazil.schema.path.price=decimal(10,2)'"),
        ("note", "the required value is missing", "", "frazil tables alter shop.orders --optional note"),
        ("a.b c", "the required value is null", "", "frazil tables alter shop.orders --optional 'a.b c'"),
        ("price", "not UTF-8", "", ""),
        ("", "the value is not JSON", "", ""),
    ],
)  # fmt: skip
def test_the_command_makes_the_column_take_such_values(path: str, reason: str, suits: str, command: str) -> None:
    assert remedy(*refused(path, reason, suits), "shop.orders") == command


def test_no_command_is_told_where_the_table_is_not_known() -> None:
    assert remedy("note", "the required value is null", "") == ""


def test_what_a_record_says_is_one_word_of_the_command() -> None:
    hostile = "x=1; rm -rf ~ #"
    assert remedy(hostile, "the required value is null", "t").endswith(f"--optional '{hostile}'")
