from __future__ import annotations

import pytest

from frazil.environment.hosts import is_this_machine


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_this_machine(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host", ["", "127.example.org", "127.0.0.1.example.org", "localhost.example.org", "10.0.0.1", "fe80::1", "::"]
)
def test_elsewhere(host: str) -> None:
    assert not is_this_machine(host)
