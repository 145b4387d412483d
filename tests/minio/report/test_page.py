from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from frazil.minio.report.page import Column, Fact, Page, Panel, html

EVIL = "</td></style></title><script>alert(1)</script><img src=x onerror=alert(1)>"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def evil_page() -> Page:
    row = Panel(EVIL, EVIL, [Column(EVIL), Column("n", number=True)], [[EVIL, "1"]], more=5)
    return Page(EVIL, EVIL, EVIL, [Fact(EVIL, EVIL)], [EVIL], [row, Panel("t", "e", failure=EVIL)], EVIL)


def test_no_text_becomes_markup() -> None:
    found = _Tags()
    found.feed(html(evil_page()))
    assert not {"script", "img", "iframe", "link", "object", "base"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "src", "style")]


def test_the_policy_allows_the_style_sheet_and_nothing_else() -> None:
    text = html(evil_page())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert policy and style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style[1] and "@import" not in style[1]


@pytest.mark.parametrize(
    ("panel", "shown"),
    [
        (Panel("t", "e"), "Nothing in this time."),
        (Panel("t", "e", failure="No answer: x"), "No answer: x"),
        (Panel("t", "e", [Column("a")], [["1"]]), "Table: 1 row<"),
        (Panel("t", "e", [Column("a")], [["1"], ["2"]], more=1998), "Table: 2 of 2,000 rows"),
    ],
)
def test_what_a_panel_says(panel: Panel, shown: str) -> None:
    assert shown in html(Page("t", "s", "m", panels=[panel]))
