from __future__ import annotations

import pytest

from frazil.text.field_path import field_path


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.b", ("a", "b")),
        ("a", ("a",)),
        ("a.", ("a", "")),
        (".a", ("", "a")),
        ("`a.b`.c", ("a.b", "c")),
        ("c.`a.b`", ("c", "a.b")),
        ("`a`b`.c", ("a`b", "c")),
        (r"`a\`.b`", ("a`.b",)),
        ("", ()),
    ],
)
def test_dotted_paths(path: str, names: tuple[str, ...]) -> None:
    assert field_path(path, "V2") == names
    assert field_path(path, "v2") == names


def test_plain_names() -> None:
    assert field_path("`a.b`.c", "V1") == ("`a.b`.c",)


@pytest.mark.parametrize(("path", "position"), [("`a.b", 0), ("x.`a", 2), ("`a\\`", 0)])
def test_a_backtick_without_its_pair(path: str, position: int) -> None:
    with pytest.raises(ValueError, match=f"Incomplete backtick pair in path.*at position {position}"):
        field_path(path, "V2")
