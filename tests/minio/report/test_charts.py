from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest

from frazil.minio.report.charts import Unit, bars_over_time, greatest

START = datetime(2026, 11, 1, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert(1)</script>&\"'"
COUNT = Unit("calls")


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def marks(svg: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)  # noqa: S314
    groups = [
        g for g in root.iter(f"{SVG}g") if "mark-rect" in g.get("class", "") and "role-mark" in g.get("class", "")
    ]
    return [path for group in groups for path in group.iter(f"{SVG}path")]


def test_bars_over_time_show_each_step_and_series() -> None:
    points = [(START + timedelta(hours=i), name, float(i + 1)) for i in range(24) for name in ("good", "bad")]
    svg = bars_over_time(points, ("good", "bad"), START, START + timedelta(hours=24), 3600, COUNT)
    assert len(marks(svg)) == 48
    assert {"good", "bad", "calls"} <= set(texts(svg))


def test_the_axis_is_utc_wherever_the_machine_is() -> None:
    program = """
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from frazil.minio.report.charts import Unit, bars_over_time
start = datetime(2026, 11, 1, tzinfo=UTC)
print(bars_over_time([(start, "", 1.0)], [""], start, start + timedelta(hours=12), 3600, Unit("calls")))
"""
    env = {**os.environ, "TZ": "Asia/Tokyo"}
    drawn = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert texts(drawn.stdout)[:5] == ["Nov 1", "03:00", "06:00", "09:00", "12:00"]


@pytest.mark.parametrize(
    ("hours", "title"), [(24, "Nov 1 (UTC)"), (25, "Nov 1 to Nov 2 (UTC)"), (24 * 30, "Nov 1 to Nov 30 (UTC)")]
)
def test_the_axis_says_which_days_it_shows(hours: int, title: str) -> None:
    end = START + timedelta(hours=hours)
    assert title in texts(bars_over_time([(START, "", 1.0)], [""], START, end, 3600, COUNT))


def test_one_series_has_no_legend() -> None:
    svg = bars_over_time([(START, "alone", 1.0)], ["alone"], START, START + timedelta(hours=1), 3600, COUNT)
    assert "alone" not in texts(svg)


def test_the_greatest_keep_their_order_and_equal_names_their_bars() -> None:
    svg = greatest([("b", 3.0), ("a", 2.0), ("a", 1.0)], COUNT)
    assert [text for text in texts(svg) if text in "ab"] == ["b", "a", "a"]
    assert len(marks(svg)) == 3


@pytest.mark.parametrize("name", [EVIL, "x" * 500, "ø 照片", "", "]]>", "${x}", "datum.value"])
def test_names_are_text_whatever_they_hold(name: str) -> None:
    for svg in (
        greatest([(name, 1.0)], COUNT),
        bars_over_time(
            [(START, name, 1.0), (START, "b", 1.0)], [name, "b"], START, START + timedelta(hours=1), 3600, COUNT
        ),
    ):
        root = ElementTree.fromstring(svg)  # noqa: S314
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "g", "path", "text", "line", "rect", "defs", "clipPath", "title",
        }  # fmt: skip
        assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
        if len(name) < 20:
            assert name in texts(svg)


def test_colours_and_sizes_are_left_to_the_page() -> None:
    svg = greatest([("a", 1.0)], COUNT)
    assert 'fill="currentColor"' in svg
    assert "style=" not in svg
    assert "viewBox" in svg


@pytest.mark.parametrize(
    "name", ["a\x00b", "\x1b]0;title\x07", "\ufffe", "\uffff", "\x9b\u202e", "\n\r\t", "\U0010ffff", "x" * 100_000]
)
def test_names_that_xml_does_not_allow_are_drawn_as_escapes(name: str) -> None:
    svg = greatest([(name, 2.0), ("good", 1.0)], COUNT)
    assert len(marks(svg)) == 2
    assert "good" in texts(svg)
    svg = bars_over_time([(START, name, 1.0)], (name, "good"), START, START + timedelta(hours=1), 3600, COUNT)
    assert len(marks(svg)) == 1
    assert "good" in texts(svg)
