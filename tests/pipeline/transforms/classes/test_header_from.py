from __future__ import annotations

from tests.pipeline.transforms.chains import applied, chain, text


def test_headers_are_added_moved_copied_and_dropped() -> None:
    found = chain(
        ("InsertHeader", {"header": "new", "value.literal": "5"}),
        ("HeaderFrom$Value", {"fields": "a,none", "headers": "from,absent", "operation": "move"}),
        ("HeaderFrom$Value", {"fields": "b", "headers": "copy", "operation": "copy"}),
        ("DropHeaders", {"headers": "old,other"}),
    )

    made = applied(found, b'{"a":1,"b":2.0}', headers=["old", "kept", "old"])

    assert made is not None
    assert made.headers == ["kept", "new", "from", "absent", "copy"]
    assert text(made.value) == b'{"b":2.0}'


def test_a_tombstone_passes() -> None:
    made = applied(chain(("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"})), None)

    assert made is not None
    assert made.value is None
