from __future__ import annotations

import getpass
from collections.abc import Callable

import pytest
from trino.types import NamedRowTuple

from frazil.config.settings import Settings
from frazil.errors import ConfigError, QueryError, ServiceUnavailable
from frazil.query.trino import TrinoEngine, plain


def engine(url: str, **env: str) -> TrinoEngine:
    return TrinoEngine(Settings({"TRINO_URL": url, **env}))


def test_a_password_never_travels_in_the_clear() -> None:
    with pytest.raises(ConfigError, match="TRINO_URL is not https") as caught:
        engine("http://127.0.0.1:8080", TRINO_PASSWORD="hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_does_not_answer(free_ports: Callable[[int], list[int]], scheme: str) -> None:
    [port] = free_ports(1)
    env = {"TRINO_PASSWORD": "hunter2"} if scheme == "https" else {}
    url = f"{scheme}://127.0.0.1:{port}"
    with pytest.raises(ServiceUnavailable, match=f"Trino at {url} does not answer") as caught:
        list(engine(url, **env).run("SELECT 1"))
    assert "hunter2" not in str(caught.value)


def test_a_statement_that_writes_is_refused_before_the_server_is_asked(
    free_ports: Callable[[int], list[int]],
) -> None:
    [port] = free_ports(1)
    with pytest.raises(QueryError, match="DROP is refused"):
        list(engine(f"http://127.0.0.1:{port}").run("SELECT 1; DROP TABLE apilogs"))


def test_the_user_is_configured_or_the_one_of_the_system() -> None:
    assert engine("http://127.0.0.1:8080", TRINO_USER="ada").user == "ada"
    assert engine("http://127.0.0.1:8080").user == getpass.getuser()


def test_rows_of_the_client_become_dicts() -> None:
    inner = NamedRowTuple([1, None], ["x", None], ["bigint", "varchar"])
    value = [NamedRowTuple([inner, {"k": inner}], ["row", "map"], ["row", "map"])]
    assert plain(value) == [{"row": {"x": 1, "field1": None}, "map": {"k": {"x": 1, "field1": None}}}]
