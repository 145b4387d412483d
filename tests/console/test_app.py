"""The console over real HTTP, on the herder of a worker. No service is needed but for tables and dead letters."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from prometheus_client import Metric

from frazil.clients.postgres import Slot
from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.console.app import console_routes
from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.runner_api import Progress
from frazil.environment.settings import Settings
from frazil.pipeline.executor import InlineExecutor
from frazil.pipeline.report import BatchReport
from frazil.stack.ports import unused
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.pages import WorkerView
from frazil.worker.rest.app import ROUTES, rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.security.users import Role
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.history import History
from frazil.worker.watch.loggers import Loggers
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.watch.positions import KeptPositions

EVIL = '"><script>alert(1)</script>'
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
CONFIG = {
    "connector.class": "IcebergSink",
    "topics": "orders",
    "iceberg.tables": "db.orders",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://catalog",
    "iceberg.catalog.s3.secret-access-key": "swordfish",
}


class Console:
    """A console, and what its worker knows."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.factory = ScriptedFactory()
        self.herder = Herder(
            FileConfigStore(folder / "connectors.json"), self.factory, "127.0.0.1:8083", RestartPolicy()
        )
        self.herder.start()
        self.history = History()
        self.letters: dict[str, int] | None = {}
        self.progress: dict[str, Progress] = {}
        self.slots: dict[tuple[str, str], Slot | None] = {}
        self.source_metrics: list[Metric] = []
        self.maintained: list[str] = []
        self.workers: dict[str, bool] = {}
        self.maintenance = MaintenanceSchedule(self.maintain, lambda report: None)
        self.stopping = threading.Event()
        view = WorkerView(
            Settings({"FRAZIL_HOME": str(folder), **variables}),
            self.herder,
            self.history,
            lambda: self.letters,
            lambda what: InlineExecutor(),
            self.progress.get,
            dict,
            lambda: self.slots,
            lambda: self.source_metrics,
            self.maintenance,
            "cluster-1",
            lambda: self.workers,
            self.stopping,
        )
        self.pages = pages = console_routes(view)
        self.app = rest_app(
            self.herder,
            WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers()),
            routes=[*ROUTES, *pages],
            home=pages[0].path,
        )
        self.server = serve(self.app, "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
        base = f"http://127.0.0.1:{self.server.port}"
        self.client = httpx.Client(base_url=base, timeout=PATIENCE_S, trust_env=False)

    def close(self) -> None:
        self.stopping.set()
        self.maintenance.close()
        self.client.close()
        self.server.stop()
        assert self.herder.close(10.0)

    def maintain(self, properties: Mapping[str, str], table: str, policy: Policy) -> list[StepResult]:
        self.maintained.append(table)
        return [StepResult(Step.COMPACT, "files", 20, 3)]

    def run(self, name: str) -> None:
        self.herder.create(name, {**CONFIG, "name": name})
        eventually(lambda: self.herder.status(name).state == "RUNNING")


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    made = Console(tmp_path, DEST_API_PORT=str(unused(1)[0]))
    yield made
    made.close()


def test_a_browser_is_led_from_the_root_to_the_console_and_no_other_client(console: Console) -> None:
    for headers in (BROWSER, {"Accept": "text/html"}):
        led = console.client.get("/", headers=headers)
        assert (led.status_code, led.headers["location"]) == (303, "/ui")
    assert console.client.get("/").json()["kafka_cluster_id"] == "cluster-1"
    assert console.client.get("/", headers={"Accept": "application/json"}).status_code == 200


def test_pages_run_no_script_but_their_own_and_ask_nobody_else(console: Console) -> None:
    for path in ("/ui", "/ui/new", "/ui/sql", "/ui/nothing", "/ui/static/console.js"):
        policy = console.client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    page = console.client.get("/ui").text
    assert not re.search(r"<script(?! src=)|<style|\son\w+=|style=", page)
    assert all(address.startswith("/") for address in re.findall(r'(?:src|href)="([^"]*)"', page) if address != "#main")


def test_no_connector_yet_says_how_to_make_one(console: Console) -> None:
    page = console.client.get("/ui")
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    assert "No connector yet" in page.text


def test_a_connector_is_shown_with_rate_lag_and_dead_letters(console: Console) -> None:
    console.run("orders")
    console.history.observe(BatchReport("orders", 1203, 1200, 3, 0, 1, 4096, 0.5, 0.2, 0.1, places=["db.orders"]))
    console.progress["orders"] = Progress({("orders", 0): 7}, {("orders", 0): 50})
    console.letters = {"orders": 2, "gone": 1}
    row = re.search(r'<tr id="row-.*?</tr>', console.client.get("/ui").text, re.DOTALL)
    assert row is not None
    cells = [re.sub(r"<[^>]*>|\s+", " ", cell).strip() for cell in re.findall(r"<td.*?</td>", row[0], re.DOTALL)]
    assert cells[0] == "RUNNING"
    assert [cells[i] for i in (1, 3, 5)] == ["20", "43", "2"], "open letters, not those of the batches"
    page = console.client.get("/ui/connectors/orders").text
    assert "<dt>Dead letters</dt><dd>2</dd>" in page
    assert '<a href="/ui/tables/db/orders">' in page
    for shown in ("1,200", "4.0 KiB", "0.50 s"):
        assert shown in page


def test_what_is_wrong_stands_on_top_with_the_next_step(console: Console) -> None:
    console.run("orders")
    console.factory.last("orders").fail("the catalog refused it\nand more")
    eventually(lambda: console.herder.status("orders").overall == "FAILED")
    page = console.client.get("/ui").text
    problems = page[page.index('class="problems"') : page.index('id="summary"')]
    assert "the catalog refused it" in problems and "and more" not in problems
    assert "Correct the cause, then restart it." in problems
    assert "the catalog refused it\nand more" in console.client.get("/ui/connectors/orders").text


def test_open_dead_letters_are_a_problem_until_they_are_closed(console: Console) -> None:
    console.run("orders")
    console.letters = {"orders": 1, "gone": 2}
    page = console.client.get("/ui").text
    assert "1 record was not stored and waits as a dead letter." in page
    assert "2 records of connectors that are not here were not stored and wait as dead letters." in page
    console.letters = {}
    console.history.observe(BatchReport("orders", 3, 0, 3, 0, 1, 4096, 0.5, 0.2, 0.1))
    assert "dead letter." not in console.client.get("/ui").text
    console.letters = None
    assert "<dt>Dead letters</dt><dd>–</dd>" in console.client.get("/ui/connectors/orders").text


def test_names_are_text_and_have_addresses_whatever_they_are(console: Console) -> None:
    for name in (EVIL, "a/b", "50%", ".."):
        console.run(name)
    page = console.client.get("/ui").text
    assert "<script>alert" not in page
    links = re.findall(r'<th scope="row"><a href="([^"]*)"', page)
    assert len(links) == 4
    for link in links:
        # "%2E%2E" is what a browser keeps too; httpx would take it for a folder otherwise
        answer = console.client.get(httpx.URL(console.client.base_url.join("/"), raw_path=link.encode()))
        assert answer.status_code == 200, link
        assert "<script>alert" not in answer.text


def test_secrets_are_hidden_on_pages_and_in_the_form(console: Console) -> None:
    console.run("orders")
    for path in ("/ui/connectors/orders", "/ui/connectors/orders/edit"):
        page = console.client.get(path).text
        assert "iceberg.catalog.s3.secret-access-key" in page
        assert "swordfish" not in page and "[hidden]" in page


def test_what_is_not_there_is_told_as_a_page(console: Console) -> None:
    for path in ("/ui/connectors/none", "/ui/connectors/none/edit", "/ui/none"):
        answer = console.client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert console.client.get("/ui/static/app.py").status_code == 404
    assert console.client.get("/ui/static/%2e%2e%2fapp.py").status_code == 404


def test_a_page_that_is_open_gets_what_changes(console: Console) -> None:
    console.run("orders")
    with console.client.stream("GET", "/ui/live", timeout=PATIENCE_S) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        found = (json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: "))
        first = next(found)
        [row] = [name for name in first["changed"] if name.startswith("row-")]
        assert "problems" in first["changed"]
        console.history.observe(BatchReport("orders", 600, 600, 0, 0, 1, 4096, 0.5, 0.2, 0.1))
        changed = next(each["changed"] for each in found if each["changed"])
        assert "10" in changed[row] and "problems" not in changed
        console.herder.delete("orders")
        assert next(each["gone"] for each in found if each["gone"]) == [row]


def test_a_worker_that_stops_does_not_wait_for_open_pages(console: Console) -> None:
    with console.client.stream("GET", "/ui/live", timeout=PATIENCE_S) as events:
        lines = events.iter_lines()
        next(lines)
        console.stopping.set()
        assert not any(line.startswith("event: problem") for line in lines)


def test_pages_are_no_part_of_the_api(console: Console) -> None:
    assert not [path for path in console.client.get("/openapi.json").json()["paths"] if path.startswith("/ui")]


def test_a_reader_looks_and_asks_and_only_an_admin_changes(console: Console) -> None:
    sent = [route.path for route in console.pages if route.methods and "POST" in route.methods]
    assert [path for path in sent if Role.READER.may("POST", path)] == ["/ui/sql/answer", "/ui/report/made"]
    assert [path for path in sent if Role.OPERATOR.may("POST", path)] == ["/ui/sql/answer", "/ui/report/made"]
    assert len(sent) > 1 and all(Role.ADMIN.may("POST", path) for path in sent)


def test_questions_about_the_logs_are_statements_to_begin_with(console: Console) -> None:
    page = console.client.get("/ui/sql?q=SELECT%20*%20FROM%20who_deleted").text
    assert 'href="/ui/sql?q=SELECT%20*%20FROM%20who_deleted"' in page
    assert re.search(r"<textarea[^>]*>SELECT \* FROM who_deleted</textarea>", page)


def test_the_workers_of_a_group_are_told_with_their_connectors(console: Console) -> None:
    console.run("orders")
    console.workers = {"http://127.0.0.1:8083": True}
    assert "Workers" not in console.client.get("/ui").text
    console.workers["http://10.0.0.2:8083"] = False
    page = console.client.get("/ui").text
    assert re.findall(r'<a href="(http[^"]*)/ui">([^<]*)</a></th><td>(\w+)</td><td class="number">(\d+)', page) == [
        ("http://127.0.0.1:8083", "127.0.0.1:8083", "leader", "1"),
        ("http://10.0.0.2:8083", "10.0.0.2:8083", "member", "0"),
    ]


def test_sparks_own_pages_are_linked_where_they_are_on(console: Console, tmp_path: Path) -> None:
    assert "Spark" not in console.client.get("/ui").text
    with_pages = Console(tmp_path / "other", SPARK_UI_PORT="4040")
    try:
        assert 'href="http://127.0.0.1:4040/jobs/"' in with_pages.client.get("/ui").text
    finally:
        with_pages.close()


def test_a_report_is_made_for_a_time_that_is_offered(console: Console) -> None:
    page = console.client.get("/ui/report").text
    assert re.findall(r'<option value="(\d+)"( selected)?', page) == [
        ("1", ""),
        ("24", " selected"),
        ("168", ""),
        ("720", ""),
    ]
    refused = console.client.post("/ui/report/made", data={"hours": "9999999"})
    assert (refused.status_code, "a report is about the last 1, 24, 168, 720 hours" in refused.text) == (400, True)
    foreign = console.client.post("/ui/report/made", data={"hours": "1"}, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 403
    unanswered = console.client.post("/ui/report/made", data={"hours": "1"})
    assert (unanswered.status_code, 'role="alert"' in unanswered.text) == (400, True)


def test_sql_needs_a_form_and_a_statement(console: Console) -> None:
    assert console.client.get("/ui/sql/answer").status_code in (404, 405)
    empty = console.client.post("/ui/sql/answer", data={"q": " "})
    assert empty.status_code == 400 and "there is no statement" in empty.text
    foreign = console.client.post("/ui/sql/answer", data={"q": "SELECT 1"}, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 403
    answer = console.client.post("/ui/sql/answer", data={"q": f"SELECT 1 AS one, '{EVIL}' AS two"})
    assert "1 row in" in answer.text and "<script>alert" not in answer.text
    refused = console.client.post("/ui/sql/answer", data={"q": "DROP TABLE orders"})
    assert refused.status_code == 400
