"""Functions of the worker's own modules: which may be named, and what they make of rows."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from frazil.connectors.iceberg.sink import IcebergSink
from frazil.connectors.registry import checked, config_infos, parsed_with
from frazil.connectors.sql.config import parse_sql, sql_config
from frazil.connectors.sql.row_function import load_function, load_udf
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.sink import SqlSink
from frazil.engine.jobs import SparkJobs
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, UsageError
from frazil.pipeline.rows import by_partition
from tests.connectors.iceberg.driver import CREATE, TABLE, TOLERANT, memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql import rows
from tests.connectors.sql.driver import STATEMENT, SqlDriver

ROOT = Path(__file__).resolve().parents[3]
HERE = "tests.connectors.sql.rows"


def test_only_functions_of_modules_that_are_allowed_are_loaded() -> None:
    assert load_function(f"{HERE}:shout", ["shop", HERE]) is rows.shout
    for name in (f"{HERE}:join", f"{HERE}:no_function", f"{HERE}:nope", f"{HERE}:DataFrame", f"{HERE}:expr"):
        with pytest.raises(ConfigError, match="has no function"):
            load_function(name, [HERE])


@pytest.mark.parametrize(
    "name", ["unwanted:run", "os:system", f"{HERE}.more:shout", "tests:rows", "a b:c", f"{HERE}:__import__"]
)
def test_nothing_is_imported_of_any_other_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unwanted.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="no module that FRAZIL_PYTHON_MODULES allows.*Nothing was imported"):
        load_function(name, [HERE])
    assert "unwanted" not in sys.modules


def test_a_module_that_cannot_be_imported_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half.py").write_text("import none_such")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="module half cannot be imported: ModuleNotFoundError"):
        load_function("half:run", ["half"])


def test_functions_that_a_statement_calls_get_columns() -> None:
    assert load_udf(f"{HERE}:twice", [HERE]) is rows.twice
    for name in ("slowly", "shout"):
        with pytest.raises(ConfigError, match="make it with @arrow_udf"):
            load_udf(f"{HERE}:{name}", [HERE])
    with pytest.raises(ConfigError, match=r"frazil\.python\.functions.*no module that FRAZIL_PYTHON_MODULES allows"):
        load_udf(f"{HERE}:twice", ["os"])


@pytest.mark.parametrize(
    ("functions", "sql", "said"),
    [
        ("", "SELECT twice(id) AS id FROM t", "there is no function twice"),
        ("upper=a:b", "SELECT id FROM t", "no function of Spark is named so"),
        ("twice", "SELECT id FROM t", "name=module:function"),
        ("twice=${a:b}", "SELECT twice(count(id)) AS n FROM t GROUP BY id", "for statements without state"),
        ("twice=a:b", "SELECT twice(id) AS id FROM t", "no module that FRAZIL_PYTHON_MODULES allows"),
    ],
)
def test_functions_have_a_form_and_names_of_their_own(functions: str, sql: str, said: str) -> None:
    config = {**MINIMAL_SINK, **STATEMENT, "frazil.python.functions": functions, "frazil.sql": sql}
    (error,) = parsed_with({**config, "frazil.watermark": "_timestamp 1 minute"}, Settings({})).error_texts()
    assert said in error


def test_without_the_variable_no_sink_is_opened() -> None:
    servers = Settings({}).bootstrap_servers
    config = {**MINIMAL_SINK, **STATEMENT, "frazil.python": f"{HERE}:shout"}
    with pytest.raises(ConfigError, match=r"FRAZIL_PYTHON_MODULES allows \(none\)"):
        SqlSink(config, Settings({}), servers)
    SqlSink(config, Settings({"FRAZIL_PYTHON_MODULES": f"shop, {HERE}"}), servers)


def test_it_is_for_statements_without_state_and_has_a_form() -> None:
    config = {**MINIMAL_SINK, **STATEMENT}
    grouped = {"frazil.sql": "SELECT id FROM t GROUP BY id", "frazil.watermark": "_timestamp 1 minute"}
    for more, said in (
        ({"frazil.python": "no name"}, "module:function"),
        ({**grouped, "frazil.python": "a:b"}, "state"),
    ):
        (error,) = parse_sql({**config, **more}).error_texts()
        assert said in error


def test_a_function_of_the_program_is_for_statements_without_state() -> None:
    servers = Settings({}).bootstrap_servers
    grouped = {"frazil.sql": "SELECT id FROM t GROUP BY id", "frazil.watermark": "_timestamp 1 minute"}
    with pytest.raises(UsageError, match="the statement of c keeps state"):
        SqlSink({**MINIMAL_SINK, **STATEMENT, **grouped}, Settings({}), servers).through(rows.shout)
    with pytest.raises(UsageError, match="c has no statement"):
        IcebergSink(MINIMAL_SINK, Settings({}), servers).through(rows.shout)


def test_a_module_that_the_worker_does_not_allow_is_refused_at_creation() -> None:
    config = {**MINIMAL_SINK, **STATEMENT, "name": "c", "frazil.python": "os:system"}
    with pytest.raises(ConfigError, match=r"frazil\.python.*no module that FRAZIL_PYTHON_MODULES allows"):
        checked(config, Settings({}))
    assert checked(config, Settings({"FRAZIL_PYTHON_MODULES": "os"})).warnings == []
    infos: Any = config_infos(config, Settings({}))
    (error,) = [one["value"]["errors"] for one in infos["configs"] if one["value"]["name"] == "frazil.python"]
    assert error


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_rows_go_through_the_function_and_what_it_fails_on_is_a_dead_letter_alone(jobs: SparkJobs) -> None:
    with memory({}) as made, pytest.MonkeyPatch.context() as patched:
        made[0].send("t", [json.dumps({"id": n, "text": f"a{n}"}).encode() for n in range(1, 6)])
        config = {**CREATE, **TOLERANT, "frazil.python": f"{HERE}:shout"}
        driver = SqlDriver(patched, *made, config, executor=jobs.of("c"))
        driver.drain()
        found = sorted((row["id"], row["text"], row["part"]) for row in driver.rows(TABLE))
        assert found == [(1, "A1", -50), (4, "A4", 100), (5, "A5", 50)]
        assert sorted(made[0].letters("t-dlq")) == [("t", 0, 2, "")]
        assert driver.reports[-1].skipped_by_reason == {"statement": 1}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "said"), [("count", "several records"), ("forget", "without their column _frazil"), ("break_", "nope")]
)
def test_a_function_that_cannot_be_exact_is_refused(jobs: SparkJobs, name: str, said: str) -> None:
    with memory({}) as made, pytest.MonkeyPatch.context() as patched, pytest.raises(ConfigError, match=said):
        SqlDriver(patched, *made, {**CREATE, "frazil.python": f"{HERE}:{name}"}, executor=jobs.of("c"))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_the_example_of_the_page_is_what_it_says(jobs: SparkJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "docs" / "examples" / "shop_rows.py"
    assert f"```python\n{example.read_text()}```" in (ROOT / "docs" / "sql-in-the-stream.md").read_text()
    monkeypatch.syspath_prepend(str(example.parent))
    function = load_function("shop_rows:enrich", ["shop_rows"])
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(sys.modules["shop_rows"])  # its folder is not on the path of the tasks
    with memory({}) as made:
        made[0].send("t", [json.dumps({"id": n, "text": "ab"}).encode() for n in (0, 1)])
        config, own = sql_config({**MINIMAL_SINK, **STATEMENT})
        with_function = replace(own, function=function)
        runs = StatementRuns(with_function, scanned_topics(config, own), jobs.of("c"), list)
        _, found = runs.try_rows(list(by_partition(made[0].records("t"))))
        assert found.drop_columns(["_frazil"]).to_pylist() == [{"id": 1, "text": "ab-01"}]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_a_statement_calls_functions_by_their_names(jobs: SparkJobs) -> None:
    with memory({}) as made, pytest.MonkeyPatch.context() as patched:
        made[0].send("t", [json.dumps({"id": n, "text": "a"}).encode() for n in (1, 2, 0)])
        sql = "SELECT Doubled(id) AS id, CAST(10 / doubled(id) AS INT) AS part FROM t"
        keys = {"frazil.python.functions": f"doubled={HERE}:twice", "frazil.sql": sql}
        driver = SqlDriver(patched, *made, {**CREATE, **TOLERANT, **keys}, executor=jobs.of("c"))
        driver.drain()
        assert sorted((row["id"], row["part"]) for row in driver.rows(TABLE)) == [(2, 5), (4, 2)]
        assert sorted(made[0].letters("t-dlq")) == [("t", 0, 2, "")]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_the_function_of_the_page_is_what_it_says(jobs: SparkJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "docs" / "examples" / "shop_taxes.py"
    assert f"```python\n{example.read_text()}```" in (ROOT / "docs" / "sql-in-the-stream.md").read_text()
    monkeypatch.syspath_prepend(str(example.parent))
    function = load_udf("shop_taxes:with_tax", ["shop_taxes"])
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(sys.modules["shop_taxes"])
    with memory({}) as made:
        made[0].send("t", [json.dumps({"total": n, "country": c}).encode() for n, c in ((100, "DE"), (9.99, "IT"))])
        keys = {
            "frazil.sql.schema": "total DECIMAL(10, 2), country STRING",
            "frazil.python.functions": "with_tax=shop_taxes:with_tax",
            "frazil.sql": "SELECT with_tax(total, country) AS gross FROM t",
        }
        config, own = sql_config({**MINIMAL_SINK, **STATEMENT, **keys})
        whole = replace(own, calls={"with_tax": function})
        runs = StatementRuns(whole, scanned_topics(config, own), jobs.of("c"), list)
        _, found = runs.try_rows(list(by_partition(made[0].records("t"))))
        assert [str(row["gross"]) for row in found.drop_columns(["_frazil"]).to_pylist()] == ["107.00", "11.88"]
