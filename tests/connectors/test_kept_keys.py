"""Keys that a worker has found and keeps, when a configuration is changed."""

from __future__ import annotations

from frazil.connectors.kept_keys import changing, kept, replacing

FOUND = {"frazil.sql.columns.a": "`id` BIGINT", "frazil.sql.columns.b": "`n` INT"}
SENT = {"topics": "a, b", "frazil.sql.schema": "inferred"}
STORED = {**SENT, **FOUND}


def test_a_configuration_that_is_sent_again_keeps_them() -> None:
    assert replacing(STORED, SENT) == STORED
    assert replacing(STORED, {**SENT, "frazil.sql.columns.a": ""}) == {**STORED, "frazil.sql.columns.a": ""}


def test_those_of_a_topic_that_has_its_columns_from_elsewhere_go() -> None:
    changed = {**SENT, "frazil.sql.schema.b": "registry"}
    assert replacing(STORED, changed) == {**changed, "frazil.sql.columns.a": FOUND["frazil.sql.columns.a"]}
    assert kept(STORED, {**SENT, "topics": "b,c"}) == {"frazil.sql.columns.b": "`n` INT"}
    assert changing(STORED, {**STORED, "frazil.sql.schema": "registry"}) == {**SENT, "frazil.sql.schema": "registry"}


def test_one_that_is_removed_is_found_anew() -> None:
    assert changing(STORED, {**STORED, "frazil.sql.columns.a": None})["frazil.sql.columns.a"] is None


def test_those_of_a_pattern_stay_as_long_as_it_does() -> None:
    stored = {"topics.regex": "a.*", "frazil.sql.schema": "inferred", "frazil.sql.columns.records": "`id` INT"}
    assert replacing(stored, {"topics.regex": "a.*", "frazil.sql.schema": "inferred"}) == stored
    assert kept(stored, {"topics.regex": "b.*", "frazil.sql.schema": "inferred"}) == {}
