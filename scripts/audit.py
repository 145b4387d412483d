"""Asks PyPI for known weaknesses of the wheels that frazil needs; `make audit` fails for a weak one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
from scripts.reference import ROOT, table
from scripts.supply_chain import Part, wheels

PAGE = ROOT / "docs" / "reference" / "weaknesses.md"
_PYPI = "https://pypi.org/pypi"
_TITLE = """\
# Known weaknesses

<!-- Made by `make audit`, whose answers change from day to day. -->"""
_OTHERS = """\
Neither the jars nor what Debian's packages bring into the image are covered. `make sbom`, then `osv-scanner scan -L
frazil.spdx.json`, asks OSV of wheels and jars."""


def told(client: httpx.Client, part: Part) -> list[dict[str, Any]] | None:
    """Weaknesses of a wheel, or None where PyPI does not tell of its version. Raises httpx.HTTPError."""
    for path in (f"{part.name}/{part.version}", part.name):
        answer = client.get(f"{_PYPI}/{path}/json")
        if answer.status_code == httpx.codes.NOT_FOUND:
            continue  # some mirrors have the page of the newest version only
        found = answer.raise_for_status().json()
        if found["info"]["version"] == part.version:
            return [one for one in found["vulnerabilities"] if not one["withdrawn"]]
    return None


def page(answers: Mapping[Part, list[dict[str, Any]] | None], day: str) -> str:
    rows = [
        (part.name, part.version, f"[{one['id']}]({one['link']})", ", ".join(one["fixed_in"]) or "none")
        for part, weaknesses in answers.items()
        for one in weaknesses or ()
    ]
    silent = [f"{part.name} {part.version}" for part, weaknesses in answers.items() if weaknesses is None]
    asked, weak = len(answers) - len(silent), len({row[:2] for row in rows})
    counted = (
        f"PyPI told on {day} of {asked} of the {len(answers)} wheels in [Third-party software](third-party.md); "
        f"{weak} have known weaknesses."
    )
    paragraphs = [_TITLE, counted]
    if rows:
        paragraphs.append(table(("Wheel", "Version", "Weakness", "Mended in"), rows).rstrip())
    if silent:
        paragraphs.append(f"It told nothing of these versions: {', '.join(silent)}.")
    return "\n\n".join([*paragraphs, _OTHERS]) + "\n"


def main() -> int:
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        answers = {part: told(client, part) for part in wheels()}
    PAGE.write_text(page(answers, f"{datetime.now(UTC):%Y-%m-%d}"))
    print(PAGE.relative_to(ROOT))
    return int(any(answers.values()))


if __name__ == "__main__":
    sys.exit(main())
