"""Public payloads from packages, as records of a topic each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_bytes())


def _webhooks(folder: Path) -> list[Record]:
    kinds = _read(folder, "@octokit/webhooks-examples/api.github.com/index.json")
    return [{"event_name": kind["name"], **example} for kind in kinds for example in kind["examples"]]


def _interfaces(folder: Path) -> list[Record]:
    found = _read(folder, "@mdn/browser-compat-data/data.json")["api"]
    return [{"name": name, "compat": interface["__compat"]} for name, interface in found.items()]


def _browsers(folder: Path) -> list[Record]:
    """Browsers with their releases by version, which are keys that are data."""
    found = _read(folder, "@mdn/browser-compat-data/data.json")["browsers"]
    return [{"id": name, **browser} for name, browser in list(found.items())[:6]]


def _licenses(folder: Path) -> list[Record]:
    found = _read(folder, "spdx-license-list/spdx-full.json")
    return [{"id": name, **license_} for name, license_ in found.items()]


def _earthquakes(folder: Path) -> list[Record]:
    found: list[Record] = _read(folder, "vega-datasets/data/earthquakes.json")["features"]
    return found


def _file(name: str) -> Callable[[Path], list[Record]]:
    return lambda folder: list(_read(folder, name))


_VEGA = (
    "barley", "cars", "countries", "flights-2k", "football", "gapminder", "jobs", "movies", "obesity", "ohlc",
    "penguins", "political-contributions", "udistrict", "weekly-weather",
)  # fmt: skip

CORPORA: dict[str, Callable[[Path], list[Record]]] = {
    "webhooks": _webhooks,
    "interfaces": _interfaces,
    "browsers": _browsers,
    "licenses": _licenses,
    "countries": _file("world-countries/countries.json"),
    "earthquakes": _earthquakes,
    "emoji": _file("emojibase-data/en/data.json"),
    **{name: _file(f"vega-datasets/data/{name}.json") for name in _VEGA},
}
