"""Known weaknesses of wheels: asked for in the version that is taken, and told with what was not covered."""

from __future__ import annotations

import httpx
from scripts.audit import page, told
from scripts.supply_chain import Part

WEAK = {"id": "PYSEC-1", "link": "https://osv.dev/PYSEC-1", "fixed_in": ["2.1", "3.0"], "withdrawn": None}
WITHDRAWN = {**WEAK, "id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z"}
PAGES = {
    "/pypi/old/2.0/json": ("2.0", [WEAK, WITHDRAWN]),
    "/pypi/old/json": ("3.0", []),
    "/pypi/newest/json": ("1.0", []),
    "/pypi/silent/json": ("5.0", [WEAK]),
}


def part(name: str, version: str) -> Part:
    return Part(name, version, "MIT", "", ("0",))


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.path not in PAGES:
        return httpx.Response(404)
    version, weaknesses = PAGES[request.url.path]
    return httpx.Response(200, json={"info": {"version": version}, "vulnerabilities": weaknesses})


def test_weaknesses_are_those_of_the_version_that_is_taken() -> None:
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        assert told(client, part("old", "2.0")) == [WEAK]
        assert told(client, part("newest", "1.0")) == []
        assert told(client, part("silent", "4.0")) is None


def test_the_page_tells_weak_wheels_and_those_that_were_not_covered() -> None:
    text = page({part("old", "2.0"): [WEAK], part("newest", "1.0"): [], part("silent", "4.0"): None}, "2026-11-30")
    assert "PyPI told on 2026-11-30 of 2 of the 3 wheels" in text
    assert "1 have known weaknesses" in text
    assert "| old | 2.0 | [PYSEC-1](https://osv.dev/PYSEC-1) | 2.1, 3.0 |" in text
    assert "nothing of these versions: silent 4.0." in text
    assert "osv-scanner" in text
