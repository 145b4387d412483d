from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
from trino.types import NamedRowTuple

from frazil.environment.settings import Settings
from frazil.errors import ConfigError, QueryError, ServiceUnavailable
from frazil.sql.trino import TrinoEngine, plain, reading
from tests.sql.tls import TlsProxy
from tests.web import Handler, served


def engine(url: str, **env: str) -> TrinoEngine:
    return TrinoEngine(Settings({"TRINO_URL": url, **env}))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_does_not_answer(free_ports: Callable[[int], list[int]], scheme: str) -> None:
    [port] = free_ports(1)
    env = {"TRINO_PASSWORD": "hunter2"} if scheme == "https" else {}
    url = f"{scheme}://127.0.0.1:{port}"
    with pytest.raises(ServiceUnavailable, match=f"Trino at {url} does not answer") as caught:
        list(engine(url, **env).run("SELECT 1"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"id": "1", "infoUri": "", "stats": {"state": "FINISHED"}, "columns": [], "data": 5}',
    ],
)
def test_a_server_that_is_not_trino(body: bytes) -> None:
    with (
        running_server(body) as url,
        pytest.raises(ServiceUnavailable, match=f"Trino at {url} does not answer"),
    ):
        list(engine(url).run("SELECT 1"))


@contextmanager
def running_server(body: bytes) -> Iterator[str]:
    """A web server that answers everything with one page."""

    class Page(Handler):
        def do_POST(self) -> None:
            self.body()
            self.answer(200, body)

    with served(Page) as url:
        yield url


def test_a_statement_that_writes_is_refused_before_the_server_is_asked(
    free_ports: Callable[[int], list[int]],
) -> None:
    [port] = free_ports(1)
    with pytest.raises(QueryError, match="DROP is refused"):
        list(engine(f"http://127.0.0.1:{port}").run("SELECT 1; DROP TABLE apilogs"))


def test_rows_of_the_client_become_dicts() -> None:
    inner = NamedRowTuple([1, None], ["x", None], ["bigint", "varchar"])
    value = [NamedRowTuple([inner, {"k": inner}], ["row", "map"], ["row", "map"])]
    assert plain(value) == [{"row": {"x": 1, "field1": None}, "map": {"k": {"x": 1, "field1": None}}}]


@pytest.fixture
def issuer() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(issuer: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    issuer.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture
def proxy(trino: Settings, issuer: trustme.CA) -> Iterator[TlsProxy]:
    """TLS and a check of the credentials before the real server."""
    with TlsProxy(trino.trino_url, issuer).running() as running:
        yield running


BASIC = "Basic " + base64.b64encode(b"ada:hunter2").decode()


@pytest.mark.trino
@pytest.mark.parametrize(
    ("variables", "header"), [({"TRINO_PASSWORD": "hunter2"}, BASIC), ({"TRINO_TOKEN": "a.b.c"}, "Bearer a.b.c")]
)
def test_a_server_with_tls_and_credentials(
    proxy: TlsProxy, ca_file: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], header: str
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nosuch/bundle.pem")  # TRINO_CA_FILE wins
    proxy.authorization = header
    asked = engine(proxy.url, TRINO_USER="ada", TRINO_CA_FILE=str(ca_file), **variables)
    [result] = asked.run("SELECT current_user AS who, 1 AS one")
    assert (result.columns, result.rows) == (("who", "one"), [("ada", 1)])


@pytest.mark.trino
def test_wrong_credentials_are_told(proxy: TlsProxy, ca_file: Path) -> None:
    proxy.authorization = BASIC
    asked = engine(proxy.url, TRINO_USER="ada", TRINO_PASSWORD="wrong", TRINO_CA_FILE=str(ca_file))
    with pytest.raises(ConfigError, match="refuses ada: check TRINO_USER and TRINO_PASSWORD") as caught:
        list(asked.run("SELECT 1"))
    assert "wrong" not in str(caught.value)


@pytest.mark.trino
def test_a_server_of_an_unknown_issuer_gets_no_credentials(proxy: TlsProxy) -> None:
    with pytest.raises(ConfigError, match="is not trusted: .*Set TRINO_CA_FILE") as caught:
        list(engine(proxy.url, TRINO_PASSWORD="hunter2").run("SELECT 1"))
    assert "hunter2" not in str(caught.value)
    assert proxy.seen == []


@pytest.mark.trino
def test_an_answer_that_goes_on_in_the_clear_is_not_followed(proxy: TlsProxy, ca_file: Path) -> None:
    proxy.authorization = BASIC
    proxy.rewrites = False
    asked = engine(proxy.url, TRINO_USER="ada", TRINO_PASSWORD="hunter2", TRINO_CA_FILE=str(ca_file))
    with pytest.raises(ConfigError, match="continues its answer over plain http"):
        list(asked.run("SELECT 1"))
    assert proxy.seen == ["POST /v1/statement"]


@pytest.mark.trino
def test_what_trino_refuses_is_told_in_its_words(trino: Settings) -> None:
    with pytest.raises(QueryError, match="COLUMN_NOT_FOUND: line 1:8: Column 'nosuch' cannot be resolved"):
        list(TrinoEngine(trino).run("SELECT nosuch FROM system.runtime.nodes"))
    with pytest.raises(QueryError, match="CATALOG_NOT_FOUND|SCHEMA_NOT_FOUND|TABLE_NOT_FOUND"):
        list(TrinoEngine(trino).run("SELECT 1 FROM nosuch.nosuch.nosuch"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "(SELECT 1)",
        "WITH FUNCTION f(x bigint) RETURNS bigint RETURN x SELECT f(1)",
        "SHOW CREATE TABLE t",
        "SHOW SESSION",
        "DESCRIBE INPUT x",
        "DESCRIBE OUTPUT x",
        "EXPLAIN SELECT 1",
        "EXPLAIN (TYPE LOGICAL, FORMAT JSON) SELECT 1",
        "EXPLAIN INSERT INTO t SELECT 1",
        "EXPLAIN ANALYZE VERBOSE SELECT 1",
        "explain /* a comment */ analyze (select 1)",
        "USE a.b",
        "SET SESSION query_max_run_time = '1m'",
        "SET TIME ZONE 'UTC'",
        "RESET SESSION query_max_run_time",
        "PREPARE x FROM SELECT ? FROM t",
        "EXECUTE x USING 1",
        "EXECUTE IMMEDIATE 'SELECT 1' USING 1",
        "DEALLOCATE PREPARE x",
    ],
)
def test_what_changes_nothing_is_sent_as_it_is_written(sql: str) -> None:
    assert [statement.text for statement in reading(f"{sql}; SELECT 2;")] == [sql, "SELECT 2"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1",
        "DROP TABLE t",
        "CALL system.rollback()",
        "ALTER TABLE t EXECUTE optimize",
        "GRANT SELECT ON t TO u",
        "SET ROLE admin",
        "ANALYZE t",
        "EXPLAIN ANALYZE INSERT INTO t SELECT 1",
        "EXPLAIN ANALYZE VERBOSE DELETE FROM t",
        "explain analyze/* select */ delete from t",
        "EXPLAIN ANALYZE EXECUTE IMMEDIATE 'drop table t'",
        "EXPLAIN ANALYZE",
        "PREPARE x FROM DELETE FROM t",
        "PREPARE x FROM EXPLAIN ANALYZE DELETE FROM t",
        "PREPARE x",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "EXECUTE IMMEDIATE '/* SELECT */ DROP TABLE t' USING 1",
        "EXECUTE IMMEDIATE",
    ],
)
def test_what_writes_is_refused_before_anything_runs(sql: str) -> None:
    with pytest.raises(QueryError, match=r"is refused; only statements that change nothing .*\. Nothing was run"):
        reading(f"SELECT 1; {sql}")


def test_a_slip_of_the_pen_is_no_refusal() -> None:
    with pytest.raises(QueryError, match=r"^line 1, column 1: syntax error at or near 'SELEC'; did you mean SELECT\?$"):
        reading("SELEC 1")
