from __future__ import annotations

import pytest

from frazil.connectors.keys.versions import check_version
from frazil.errors import ConfigError


@pytest.mark.parametrize(
    "wanted",
    ["latest", "", "1.12.0", " 1.12.0 ", "1.12", "[1.12.0]", "[1.12,1.13)", "(1.9,)", "[1.12.0,]", "(,1.12.0]", "(,)"],
)
def test_what_is_installed(wanted: str) -> None:
    check_version("P", wanted, "1.12.0")


@pytest.mark.parametrize("wanted", ["99", "1.2.0", "1.12.0-rc1", "(1.12.0,)", "(,1.12.0)", "[1.2,1.9]", "[2.0]"])
def test_what_is_not_installed(wanted: str) -> None:
    shown = wanted if wanted[0] in "[(" else f"[{wanted},{wanted}]"
    with pytest.raises(ConfigError) as raised:
        check_version("P", wanted, "1.12.0")
    expected = f"Plugin P not found that matches the version range {shown}, available versions: [1.12.0]"
    assert str(raised.value) == expected


@pytest.mark.parametrize("wanted", ["[x", "1,2", "[1,2,3]", "]1["])
def test_what_is_no_version(wanted: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_version("P", wanted, "1.12.0")
    assert str(raised.value) == f"Invalid version specification: {wanted}"
