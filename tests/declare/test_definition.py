from __future__ import annotations

import time

import pytest

from frazil.declare.definition import ConfigDef, Key, Type, Value, as_text, parse_value
from frazil.declare.validators import at_least

DEFINITION = ConfigDef(
    [
        Key("count", "INT", "How many.", default=1, validator=at_least(1), group="Common", width="SHORT"),
        Key("needed", "STRING", "Must be set.", importance="HIGH"),
        Key("pass", "PASSWORD", "A secret.", default=None),
        Key("old", "STRING", "Not used any more.", default="x", no_effect="nothing reads it"),
        Key("new.name", "STRING", "Has two spellings.", default=None, aliases=("old.name",)),
        Key("props.*", "STRING", "A family.", default=None, aliases=("prop.*",)),
        Key("table.*.branch", "STRING", "A family with a tail.", default=None),
    ]
)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("BOOLEAN", " TRUE ", True),
        ("INT", "-2147483648", -(2**31)),
        ("SHORT", "+3", 3),
        ("LONG", "9223372036854775807", 2**63 - 1),
        ("DOUBLE", "1.5e3", 1500.0),
        ("LIST", "one, two ", ("one", "two")),
        ("LIST", " ", ()),
        ("STRING", "  a b ", "a b"),
        ("CLASS", " a.B ", "a.B"),
    ],
)
def test_values_are_trimmed_and_parsed(type_: Type, text: str, value: Value) -> None:
    assert parse_value(type_, text) == value


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        ("BOOLEAN", "yes", "Expected value to be either true or false"),
        ("INT", "2147483648", "Not a number of type INT"),
        ("INT", "1_000", "Not a number of type INT"),
        ("INT", "٣", "Not a number of type INT"),
        ("INT", "9" * 5000, "Not a number of type INT"),
        ("SHORT", "32768", "Not a number of type SHORT"),
        ("LONG", "1.5", "Not a number of type LONG"),
        ("DOUBLE", "nan", "Not a number of type DOUBLE"),
    ],
)
def test_values_that_cannot_be_parsed_have_connects_reason(type_: Type, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_value(type_, text)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), ((), ""), (("a", "b"), "a,b"), (None, None), (7, "7")]
)
def test_values_are_shown_as_text(value: Value, text: str | None) -> None:
    assert as_text(value) == text


def test_a_number_that_cannot_be_parsed_gives_two_errors() -> None:
    parsed = DEFINITION.parse({"needed": "n", "count": "many"})
    assert parsed.error_texts() == [
        "Invalid value many for configuration count: Not a number of type INT",
        "Invalid value null for configuration count: Value must be non-null",
    ]
    assert parsed.causes() == ["Invalid value many for configuration count: Not a number of type INT"]


def test_errors_stand_in_the_order_of_the_definition() -> None:
    parsed = DEFINITION.parse({"count": "0"})
    assert parsed.error_texts() == [
        "Invalid value 0 for configuration count: Value must be at least 1",
        'Missing required configuration "needed" which has no default value.',
    ]


def test_null_values_are_errors_and_an_unknown_one_comes_first_without_definition() -> None:
    infos = DEFINITION.parse({"needed": None, "stray": None}).config_infos()
    assert infos[0]["definition"] is None
    assert infos[0]["value"] == {
        "name": "stray",
        "value": None,
        "recommended_values": [],
        "errors": ["Null value can not be supplied as the configuration value."],
        "visible": True,
    }
    assert [info["value"]["errors"] for info in infos[2:3]] == [  # type: ignore[index]
        ["Null value can not be supplied as the configuration value."]
    ]


def test_config_infos_describe_each_key_once() -> None:
    infos = DEFINITION.parse({"needed": "n", "props.a": "1"}).config_infos()
    assert infos[0] == {
        "definition": {
            "name": "count",
            "type": "INT",
            "required": False,
            "default_value": "1",
            "importance": "MEDIUM",
            "documentation": "How many.",
            "group": "Common",
            "order_in_group": 1,
            "width": "SHORT",
            "display_name": "count",
            "dependents": [],
        },
        "value": {"name": "count", "value": "1", "recommended_values": [], "errors": [], "visible": True},
    }
    assert [info["value"]["name"] for info in infos] == ["count", "needed", "pass", "old", "new.name"]  # type: ignore[index]


def test_a_key_without_group_has_order_minus_one_and_required_keys_have_no_default() -> None:
    described = DEFINITION.describe(DEFINITION.keys["needed"])
    assert (described["group"], described["order_in_group"], described["width"]) == (None, -1, "NONE")
    assert (described["required"], described["default_value"]) == (True, None)
    optional = DEFINITION.describe(DEFINITION.keys["new.name"])
    assert (optional["required"], optional["default_value"]) == (False, None)


def test_passwords_are_hidden() -> None:
    parsed = DEFINITION.parse({"needed": "n", "pass": "hunter2"})
    assert parsed.text("pass") == "hunter2"
    assert "hunter2" not in str(parsed.config_infos())


def test_other_spellings_are_read() -> None:
    assert DEFINITION.parse({"needed": "n", "old.name": "v"}).text("new.name") == "v"
    parsed = DEFINITION.parse({"needed": "n", "prop.a": "1", "prop.b": "2", "props.b": "3"})
    assert parsed.members("props.*") == {"a": "1", "b": "3"}
    assert parsed.warnings == []


def test_a_family_with_a_tail_keeps_dots_in_its_member() -> None:
    parsed = DEFINITION.parse({"needed": "n", "table.db.t1.branch": "b1", "table..branch": "no"})
    assert parsed.members("table.*.branch") == {"db.t1": "b1"}


def test_warnings_name_keys_without_effect_and_the_nearest_known_key() -> None:
    parsed = DEFINITION.parse({"needed": "n", "old": "1", "conut": "2", "zzz": "3"})
    assert parsed.warnings == [
        "old has no effect here: nothing reads it",
        "conut is not a key of this connector and has no effect; did you mean count?",
        "zzz is not a key of this connector and has no effect",
    ]
    assert parsed.error_texts() == []


def test_default_values_do_not_warn() -> None:
    assert DEFINITION.parse({"needed": "n"}).warnings == []


def test_what_a_key_costs_does_not_grow_with_the_keys() -> None:
    def seconds(count: int) -> float:
        definition = ConfigDef([Key(f"k{n}", "STRING", "", default=None, group="g") for n in range(count)])
        config = {f"unknown{n}": "x" for n in range(count)}
        started = time.process_time()
        infos = definition.parse(config).config_infos()
        assert infos[count - 1]["definition"]["order_in_group"] == count  # type: ignore[index]
        return time.process_time() - started

    seconds(500)
    assert seconds(8_000) < 5
