"""The verb `report` on real tables, and its page in a real browser."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.minio.generators.generate import records
from frazil.minio.report.panels import VIEWS
from frazil.stack.local import LocalStack
from tests.browser import chromium, visit
from tests.cli.programs import text_here
from tests.minio.questions.conftest import drop_tables, write_records

pytestmark = pytest.mark.stack

NAMESPACE = "reporttests"
EVIL = "<script>alert(1)</script>"
CALLS = 4000
NOW = datetime.now(UTC)


@dataclass
class Written:
    """A page that the verb wrote, and what the verb said."""

    path: Path
    said: str
    progress: str
    settings: Settings


def call(bucket: str) -> bytes:
    """A call whose names would be markup, if they were not escaped."""
    return json.dumps(
        {
            "version": "1",
            "time": (NOW - timedelta(hours=1)).isoformat(),
            "node": EVIL,
            "origin": "client",
            "type": "object",
            "name": f"s3.{EVIL}",
            "bucket": bucket,
            "object": '"><img src=x onerror=alert(2)>',
            "callInfo": {
                "httpStatusCode": 403,
                "rx": 5_000_000_000,
                "tx": 7_000_000_000,
                "timeToResponse": "90s",
                "sourceHost": "10.0.0.1",
                "userAgent": EVIL,
                "accessKey": EVIL,
                "responseHeader": {"X-Minio-Error-Desc": f"{EVIL}</svg></style>"},
            },
        }
    ).encode()


def report(settings: Settings, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with contextlib.chdir(folder):
        return text_here(settings.env, "report", *arguments)


@pytest.fixture(scope="module")
def written(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    catalog = connect(stack.settings.catalog_properties())
    span = timedelta(hours=23)
    made = {
        "api": [*records("api", CALLS, span=span), *(call(EVIL) for _ in range(5))],
        "error": list(records("error", 300, span=span)),
        "audit": list(records("audit", 300, span=span)),
    }
    write_records(catalog, NAMESPACE, made)  # type: ignore[arg-type]
    settings = Settings({**stack.settings.env, "NAMESPACE_NAME": NAMESPACE, "TRINO_URL": ""})
    folder = tmp_path_factory.mktemp("report")
    ran = report(settings, folder)
    assert ran.returncode == 0, ran.stderr
    yield Written(folder / "report.html", ran.stdout, ran.stderr, settings)
    drop_tables(catalog, NAMESPACE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def test_the_verb_says_where_the_page_is(written: Written) -> None:
    assert re.fullmatch(r"report\.html: [\d,]+ kB; open it with a browser: file://.*/report\.html\n", written.said)
    assert written.path.stat().st_size < 2_000_000
    assert [path.name for path in written.path.parent.iterdir()] == ["report.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_plot_is_seen_and_the_page_does_nothing_else(written: Written, browser: Browser, scheme: str) -> None:
    with visit(browser, written.path, scheme="dark" if scheme == "dark" else "light") as seen:
        plots = seen.page.locator("figure svg")
        assert plots.count() == len(VIEWS)
        for plot in plots.all():
            box = plot.bounding_box()
            assert plot.is_visible() and box is not None and box["width"] > 300 and box["height"] > 50
            assert plot.locator(".role-mark path").count() > 0
        background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        labels = plots.first.locator("text").first.evaluate("e => getComputedStyle(e).fill")
        assert (luminance(background) > luminance(labels)) == (scheme == "light")
        assert abs(luminance(background) - luminance(labels)) > 0.5
        assert (seen.requests, seen.messages) == ([], [])


def test_names_in_the_data_are_text(written: Written, browser: Browser) -> None:
    with visit(browser, written.path) as seen:
        assert seen.page.locator("script, img, iframe, object").count() == 0
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert EVIL in seen.page.locator("section", has=seen.page.get_by_role("heading", name="Buckets")).inner_text()
        assert seen.page.locator("figure svg text", has_text="<script>").count() > 0
        assert (seen.requests, seen.messages) == ([], [])


def test_a_phone_shows_all_of_it_without_scrolling_sideways(written: Written, browser: Browser) -> None:
    with visit(browser, written.path, width=360) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
        sizes = seen.page.evaluate(
            "[...document.querySelectorAll('figure svg')].map(svg => "
            "13 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
        )
        assert min(sizes) >= 9, "text of the plots in pixels"


def test_it_can_be_read_without_seeing_the_plots(written: Written, browser: Browser) -> None:
    with visit(browser, written.path) as seen:
        for view in VIEWS:
            assert seen.page.get_by_role("heading", name=view.title, exact=True).count() == 1
            assert seen.page.get_by_role("img", name=view.title, exact=True).count() == 1
            section = seen.page.get_by_role("region", name=view.title, exact=True)
            section.locator("summary").click()
            assert section.get_by_role("table").is_visible()


def test_the_figures_are_those_of_the_records(written: Written, browser: Browser) -> None:
    with visit(browser, written.path) as seen:
        facts = dict(
            zip(seen.page.locator("dt").all_inner_texts(), seen.page.locator("dd").all_inner_texts(), strict=True)
        )
    assert int(facts["Calls"].replace(",", "")) > CALLS * 0.5
    assert facts["Sent"].endswith("GB")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--since", "yesterday"), 2, "yesterday is not a time"),
        (("--since", "1h", "--until", "2h"), 2, "--since 1h is not before --until 2h; nothing was written"),
        (("--output", "/nosuch/x.html", "--since", "1s"), 2, "--output /nosuch/x.html cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(
    written: Written, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = report(written.settings, tmp_path, *arguments)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert message in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_catalog_that_is_gone_leaves_the_old_page(written: Written, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    gone = Settings({**written.settings.env, "ICEBERG_CATALOG_PORT": "1"})
    ran = report(gone, tmp_path)
    assert ran.returncode == 1
    assert "does not answer" in ran.stderr
    assert (tmp_path / "report.html").read_text() == "old"


def luminance(colour: str) -> float:
    """Lightness from 0 to 1 of `rgb(r, g, b)`."""
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
