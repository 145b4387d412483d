"""The console in a browser, on a worker with real parts: the tasks of somebody who looks after connectors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from pyiceberg.types import LongType

from frazil.clients.catalog import connect
from frazil.clients.kafka import topics as kafka_topics
from frazil.minio.generators.generate import records
from frazil.minio.records.kinds import TableKind
from frazil.minio.report.panels import VIEWS
from tests.browser import chromium
from tests.harness import Pipe, Worker, event, send
from tests.minio.questions.conftest import drop_tables, write_records
from tests.waits import eventually

pytestmark = pytest.mark.spark

EVIL = "<script>alert(1)</script>"
SLOW_MS = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


class Visitor:
    """A person at the console: opens pages, and notes what the browser complains about."""

    def __init__(self, browser: Browser, worker: Worker, axe: Path, **look: Any) -> None:
        self.page: Page = browser.new_page(**look)
        self.page.set_default_timeout(SLOW_MS)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._base = worker.settings.connect_url
        self._axe = axe.read_text()

    def open(self, path: str) -> Page:
        self.page.goto(self._base + path)
        return self.page

    def faults(self) -> list[str]:
        """What axe-core finds wrong with the page for people with a keyboard, a screen reader or weak eyes."""
        found = self.page.evaluate(f"async () => {{ {self._axe}; return (await axe.run()).violations }}")
        return [f"{self.page.url}: {one['id']}: {[node['html'] for node in one['nodes']][:3]}" for one in found]


@pytest.fixture
def visitor(browser: Browser, worker: Worker, packages: Path) -> Iterator[Visitor]:
    made = Visitor(browser, worker, packages / "axe-core" / "axe.min.js", bypass_csp=True)
    yield made
    made.page.close()


def test_a_connector_is_made_watched_paused_and_deleted(visitor: Visitor, worker: Worker, pipe: Pipe) -> None:
    page = visitor.open("/ui")
    page.get_by_role("link", name="New connector").click()
    page.get_by_label("Name").fill(pipe.connector)
    area = page.get_by_label("Configuration, as JSON")
    area.fill(json.dumps({**pipe.config(), "tasks.max": "two"}))
    expect(page.locator(".findings")).to_contain_text("tasks.max", timeout=SLOW_MS)
    area.fill(json.dumps(pipe.config(errors__tolerance="all")))
    expect(page.locator(".findings")).to_be_hidden(timeout=SLOW_MS)
    page.get_by_role("button", name="Create").click()
    page.wait_for_url(f"**/ui/connectors/{pipe.connector}")
    expect(page.locator("#state .state")).to_have_text("RUNNING", timeout=SLOW_MS)
    good = [json.dumps({"id": i, "time": "2026-01-01T00:00:00Z", "bucket": EVIL}).encode() for i in range(40)]
    pipe.send([*good, b'{"id": "' + EVIL.encode() + b'"}'])
    expect(page.locator("#state")).to_contain_text(re.compile(r"Stored\s*40"), timeout=SLOW_MS)
    expect(page.locator("#batches tbody tr").first).to_be_visible()
    assert page.locator("#partitions tbody tr").count() == 3
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state .state")).to_have_text("PAUSED", timeout=SLOW_MS)
    assert worker.state(pipe.connector) == "PAUSED"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state .state")).to_have_text("RUNNING", timeout=SLOW_MS)

    page.get_by_role("link", name="Dead letters").click()
    letters = page.locator("section", has_text=pipe.connector).first
    expect(letters).to_contain_text("frazil deadletters replay --connector")
    expect(letters).to_contain_text(EVIL)

    visitor.open(f"/ui/tables/acceptance/{pipe.name}")
    expect(page.locator(".facts")).to_contain_text(re.compile(r"rows\s*40"))
    page.get_by_role("button", name="Show 20 rows").click()
    expect(page.locator("tbody tr")).to_have_count(20)
    expect(page.locator("tbody")).to_contain_text(EVIL)

    visitor.open(f"/ui/connectors/{pipe.connector}/edit")
    area = page.get_by_label("Configuration, as JSON")
    area.fill(json.dumps({**json.loads(area.input_value()), "iceberg.control.commit.interval-ms": "2000"}))
    expect(page.locator(".changes")).to_contain_text("iceberg.control.commit.interval-ms: 1000 → 2000", timeout=SLOW_MS)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(f"**/ui/connectors/{pipe.connector}")
    changed = worker.client.config(pipe.connector)
    assert changed["iceberg.control.commit.interval-ms"] == "2000"
    assert changed["iceberg.catalog.s3.secret-access-key"] == pipe.config()["iceberg.catalog.s3.secret-access-key"]

    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/ui")
    expect(page.get_by_role("link", name=pipe.connector)).to_have_count(0)
    assert pipe.connector not in worker.client.connectors()
    assert visitor.complaints == []


def test_what_the_newest_records_would_become_is_shown_beside_the_form(
    visitor: Visitor, worker: Worker, pipe: Pipe
) -> None:
    pipe.send([event(0, colour=EVIL), event(1, count="many")])
    page = visitor.open("/ui/new")
    page.get_by_label("Name").fill(pipe.connector)
    page.get_by_label("Configuration, as JSON").fill(json.dumps(pipe.config(errors__tolerance="all")))
    page.get_by_role("button", name="Try it on the newest records").click()
    trial = page.locator(".trial")
    expect(trial).to_contain_text("Of 2 records", timeout=SLOW_MS)
    expect(trial).to_contain_text("would get column colour string")
    expect(trial).to_contain_text("dead letter")
    expect(trial.get_by_role("group", name=f"First rows of {pipe.table_name}")).to_contain_text(EVIL)
    assert not visitor.faults()
    assert pipe.rows() == [] and pipe.connector not in worker.client.connectors()
    assert visitor.complaints == []


def test_a_position_is_forgotten_after_a_look_at_what_is_read_again(
    visitor: Visitor, worker: Worker, pipe: Pipe
) -> None:
    worker.client.put_config(pipe.connector, pipe.config())
    pipe.send([event(number) for number in range(5)])
    eventually(lambda: pipe.ids() == list(range(5)))
    eventually(lambda: pipe.lag() == 0)
    page = visitor.open(f"/ui/connectors/{pipe.connector}")
    page.get_by_role("link", name="Position", exact=True).click()
    dry_run = page.locator("section", has_text="If the position were forgotten")
    expect(dry_run).to_contain_text("records from offset 0 on would be read again", timeout=SLOW_MS)
    expect(dry_run).to_contain_text(f"rows of them that are in {pipe.table_name} would be there twice")
    page.get_by_role("button", name="Stop").click()
    asked: list[str] = []

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.once("dialog", agree)
    page.get_by_role("button", name="Forget the position").click(timeout=60_000)
    expect(page.locator(".outcome")).to_contain_text("have been reset successfully", timeout=SLOW_MS)
    expect(page.get_by_role("heading", name="No position")).to_be_visible()
    assert "would be there twice" in asked[0]
    assert worker.client.offsets(pipe.connector) == []
    assert visitor.complaints == []


def test_dead_letters_are_replayed_when_the_cause_is_mended_and_the_rest_is_dropped(
    visitor: Visitor, worker: Worker, pipe: Pipe
) -> None:
    config = {**pipe.config(errors__tolerance="all"), "iceberg.tables.evolve-schema-enabled": "false"}
    worker.client.put_config(pipe.connector, config)
    pipe.send([event(0), *(event(number, count=2**31) for number in range(1, 4)), event(4, count="many")])
    eventually(lambda: pipe.lag() == 0)
    with pipe.table().update_schema() as update:
        update.update_column("count", LongType())
    page = visitor.open("/ui/deadletters")
    big = page.locator("section", has_text=pipe.connector).filter(has_text="3 × column count")
    big.get_by_label("all 3").check()
    big.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("heading", name="Replay 3 dead letters?")).to_be_visible(timeout=SLOW_MS)
    expect(page.locator("main")).to_contain_text("3 would be stored")
    assert pipe.ids() == [0]
    page.get_by_role("button", name="Replay 3").click()
    expect(page.locator("main")).to_contain_text("3 stored", timeout=SLOW_MS)
    assert pipe.ids() == [0, 1, 2, 3]
    page.get_by_role("link", name="Back to the dead letters").click()
    left = page.locator("section", has_text=pipe.connector)
    expect(left).to_have_count(1)
    left.get_by_label("@").check()
    left.get_by_role("button", name="Drop").click()
    expect(page.locator("main")).to_contain_text("they stay in their topic until its retention takes them")
    assert not visitor.faults()
    page.get_by_role("button", name="Drop 1").click()
    expect(page.locator("main")).to_contain_text("1 dropped")
    page.get_by_role("link", name="Back to the dead letters").click()
    expect(page.locator("section", has_text=pipe.connector)).to_have_count(0)
    assert visitor.complaints == []


def test_every_page_can_be_used_with_keyboard_and_screen_reader_light_dark_and_small(
    browser: Browser, worker: Worker, pipe: Pipe, packages: Path
) -> None:
    config = pipe.config(errors__tolerance="all")
    worker.client.put_config(pipe.connector, config)
    pipe.send([b'{"id": 1, "time": "2026-01-01T00:00:00Z"}', b"no record"])
    eventually(lambda: pipe.ids() == [1])
    faults: list[str] = []
    for look in ({"color_scheme": "light"}, {"color_scheme": "dark", "viewport": {"width": 380, "height": 800}}):
        visitor = Visitor(browser, worker, packages / "axe-core" / "axe.min.js", bypass_csp=True, **look)
        for path in (
            "/ui",
            f"/ui/connectors/{pipe.connector}",
            f"/ui/connectors/{pipe.connector}/edit",
            f"/ui/connectors/{pipe.connector}/offsets",
            "/ui/new",
            "/ui/tables",
            f"/ui/tables/acceptance/{pipe.name}",
            "/ui/deadletters",
            "/ui/sql",
            "/ui/report",
            "/ui/nothing",
        ):
            page = visitor.open(path)
            faults += visitor.faults()
            if path not in ("/ui/nothing",):
                width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert width <= 0, f"{path} is {width} px too wide"
        assert [text for text in visitor.complaints if "404" not in text] == []
        visitor.page.close()
    assert not faults, "\n".join(faults)


def test_an_answer_is_plotted_and_the_columns_of_a_table_have_a_history(
    visitor: Visitor, worker: Worker, pipe: Pipe, tmp_path: Path
) -> None:
    worker.client.put_config(pipe.connector, {**pipe.config(), "iceberg.tables.evolve-schema-enabled": "true"})
    pipe.send([event(number) for number in (1, 2, 3)])
    eventually(lambda: pipe.ids() == [1, 2, 3])
    pipe.send([json.dumps({**json.loads(event(4)), "added": 1}).encode()])
    eventually(lambda: pipe.ids() == [1, 2, 3, 4])
    page = visitor.open(f"/ui/tables/acceptance/{pipe.name}")
    expect(page.get_by_role("region", name="History of the columns")).to_contain_text("+ added")
    page.screenshot(path=tmp_path / "table.png", full_page=True)
    faults = visitor.faults()
    page = visitor.open("/ui/sql")
    page.get_by_role("textbox").fill("SELECT name, id FROM (VALUES ('ann', 3), ('bob', -1), ('eve', 2)) AS t(name, id)")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("img", name="id by name")).to_be_visible()
    assert page.locator("svg.plot rect").count() == 3
    page.screenshot(path=tmp_path / "sql.png", full_page=True)
    assert faults + visitor.faults() == []
    assert visitor.complaints == []


@pytest.mark.faults
def test_a_report_about_the_logs_is_made_for_a_time(
    browser: Browser, worker: Worker, packages: Path, tmp_path: Path
) -> None:
    """The browser keeps the policy of the page, so axe-core has to be let in: by a second visitor."""
    catalog = connect(worker.settings.catalog_properties())
    span = timedelta(hours=23)
    made: dict[TableKind, list[bytes]] = {
        "api": list(records("api", 500, seed=1, span=span)),
        "error": list(records("error", 50, seed=2, span=span)),
        "audit": list(records("audit", 500, seed=3, span=span)),
    }
    write_records(catalog, worker.settings.namespace, made)
    faults: list[str] = []
    for lenient in (False, True):
        visitor = Visitor(browser, worker, packages / "axe-core" / "axe.min.js", bypass_csp=lenient)
        page = visitor.open("/ui/sql")
        page.get_by_text("Questions about the logs").click()
        page.get_by_role("link", name="A report with plots of a time").click()
        page.get_by_label("Time").select_option("the last 24 hours")
        page.get_by_role("button", name="Make").click()
        expect(page.locator("figure svg")).to_have_count(len(VIEWS), timeout=SLOW_MS)
        expect(page.get_by_text("Calls", exact=True)).to_be_visible()
        page.screenshot(path=tmp_path / "report.png", full_page=True)
        faults += visitor.faults() if lenient else []
        assert visitor.complaints == []
        visitor.page.close()
    drop_tables(catalog, worker.settings.namespace)
    assert faults == []


@pytest.mark.faults
def test_a_table_is_maintained_on_request(visitor: Visitor, worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, {**pipe.config(), "frazil.maintenance.interval.ms": "3600000"})
    for number in (1, 2, 3):
        pipe.send([event(number)])
        eventually(lambda: len(pipe.ids()) == number)  # noqa: B023 - awaited in the same turn
    address = f"/ui/tables/acceptance/{pipe.name}"
    page = visitor.open(address)
    region = page.locator("section", has=page.get_by_role("heading", name="Maintenance"))
    expect(region).to_contain_text("the next one comes in 10 min")
    region.get_by_role("button", name="Maintain now").click()
    expect(region).to_contain_text("it is going on")
    eventually(lambda: "The last one" in visitor.open(address).locator("main").inner_text())
    expect(region).to_contain_text("compact 3 to 3 data files")
    expect(region).to_contain_text("the next one comes in 60 min")
    assert visitor.faults() == []
    assert visitor.complaints == []


@pytest.mark.faults
def test_pictures_for_the_documentation(browser: Browser, worker: Worker, tmp_path: Path) -> None:
    """Written to the folder that PICTURES names, such as docs/images."""
    folder = Path(os.environ.get("PICTURES", tmp_path))
    pipes = [Pipe(worker.settings, name).create() for name in ("orders", "payments")]
    for one in pipes:
        more = {"errors.tolerance": "all", "frazil.maintenance.interval.ms": "3600000"}
        worker.client.put_config(one.connector, {**one.config(), **more})
    for number in range(0, 600, 20):
        for one in pipes:
            one.send([event(number + each) for each in range(20)])
        pipes[0].send([b'{"id": "twelve", "time": "2026-03-01T10:30:00Z"}'] if number % 200 == 0 else [])
    eventually(lambda: all(len(one.ids()) == 600 for one in pipes))
    page = browser.new_page(viewport={"width": 1200, "height": 750})
    page.set_default_timeout(SLOW_MS)
    for name, path, shown in (("overview", "/ui", "RUNNING"), ("letters", "/ui/deadletters", "Replay")):
        page.goto(worker.settings.connect_url + path)
        expect(page.locator("main")).to_contain_text(shown, timeout=SLOW_MS)
        page.wait_for_timeout(2500)  # the newest figures come with the next look
        page.screenshot(path=folder / f"console-{name}.png")
    page.close()
    for one in pipes:
        worker.client.delete(one.connector)


def test_pages_can_be_read_without_scripts(browser: Browser, worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: worker.state(pipe.connector) == "RUNNING")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{worker.settings.connect_url}/ui")
    expect(page.get_by_role("link", name=pipe.connector)).to_be_visible()
    page.get_by_role("link", name="SQL").click()
    page.get_by_role("textbox").fill("SELECT 6 * 7 AS answer")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("tbody td")).to_have_text("42")
    context.close()


def test_topics_without_connectors_are_no_dead_letters(visitor: Visitor, worker: Worker, pipe: Pipe) -> None:
    kafka_topics.ensure_topics(worker.settings.bootstrap_servers, {f"{pipe.name}-dlq": (1, {})})
    send(worker.settings.bootstrap_servers, f"{pipe.name}-dlq", [b"somebody wrote this"])
    page = visitor.open("/ui/deadletters")
    expect(page.locator("main")).to_contain_text("somebody wrote this")
    expect(page.locator("main")).to_contain_text("no reason told")
