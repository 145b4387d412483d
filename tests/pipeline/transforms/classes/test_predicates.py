from __future__ import annotations

from typing import Any

import pytest

from tests.pipeline.transforms.chains import KAFKA, applied, chain

PREDICATES = KAFKA + "predicates."


def passes(name: str, value: bytes | None, negate: bool, keys: dict[str, str], **more: Any) -> bool:
    """Whether Filter, with the predicate, keeps a record."""
    step = {"predicate": "p", **({"negate": "true"} if negate else {})}
    found = chain(
        ("Filter", step),
        predicates="p",
        predicates__p__type=PREDICATES + name,
        **{f"predicates__p__{key}": text for key, text in keys.items()},
    )
    return applied(found, value, **more) is not None


@pytest.mark.parametrize("negate", [False, True])
def test_has_header_key(negate: bool) -> None:
    assert passes("HasHeaderKey", b"{}", negate, {"name": "h"}, headers=[("x", None), ("h", None)]) is negate
    assert passes("HasHeaderKey", b"{}", negate, {"name": "h"}, headers=[("H", None)]) is not negate


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("value", "expected"), [(None, True), (b" null\n", True), (b"{}", False), (b'"null"', False), (b"", False)]
)
def test_record_is_tombstone(value: bytes | None, expected: bool, negate: bool) -> None:
    assert passes("RecordIsTombstone", value, negate, {}) is (expected is negate)


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(("pattern", "expected"), [("t", True), ("T", False), ("(?i)T|x", True), ("t.", False)])
def test_topic_name_matches(pattern: str, expected: bool, negate: bool) -> None:
    assert passes("TopicNameMatches", b"{}", negate, {"pattern": pattern}) is (expected is negate)


def test_a_predicate_sees_the_topic_that_a_router_made() -> None:
    found = chain(
        ("RegexRouter", {"regex": "t", "replacement": "u"}),
        ("Filter", {"predicate": "p"}),
        predicates="p",
        predicates__p__type=PREDICATES + "TopicNameMatches",
        predicates__p__pattern="u",
    )

    assert applied(found, b"{}") is None
