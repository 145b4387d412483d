from __future__ import annotations

from tests.pipeline.transforms.chains import applied, chain, text


def test_headers_are_added_moved_copied_and_dropped() -> None:
    found = chain(
        ("InsertHeader", {"header": "new", "value.literal": "5"}),
        ("HeaderFrom$Value", {"fields": "a,none", "headers": "from,absent", "operation": "move"}),
        ("HeaderFrom$Value", {"fields": "b", "headers": "copy", "operation": "copy"}),
        ("DropHeaders", {"headers": "old,other"}),
    )

    made = applied(found, b'{"a":1,"b":2.0}', headers=[("old", b"1"), ("kept", b"2"), ("old", None)])

    assert made is not None
    assert [(name, text(value)) for name, value in made.headers] == [
        ("kept", b"2"),
        ("new", b"5"),
        ("from", b"1"),
        ("absent", None),
        ("copy", b"2.0"),
    ]
    assert text(made.value) == b'{"b":2.0}'


def test_a_tombstone_passes() -> None:
    made = applied(chain(("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"})), None)

    assert made is not None
    assert made.value is None
