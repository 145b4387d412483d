"""Each tutorial works as it is written, on a stack that its first command starts: its commands, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.environment.settings import Settings
from tests.isolation import isolated_settings

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PAGES = sorted(Path("docs/tutorials").glob("*.md"))
SHORTEST = "topics-to-tables"
_JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    made = isolated_settings(tmp_path_factory.mktemp("tutorials") / "home", FRAZIL_ENV_FILE=os.devnull)
    yield made
    shell(made, made.home.parent, "frazil clean --yes")


def shell(settings: Settings, folder: Path, commands: str) -> str:
    """Both outputs of commands that a shell ran one after the other; each has to succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{settings.env.get('PATH', os.defpath)}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace("127.0.0.1:8083", f"127.0.0.1:{settings.connect_port}")],
        cwd=folder,
        env={**settings.env, "PATH": path, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[] if page.stem == SHORTEST else pytest.mark.faults) for page in PAGES],
)
def test_a_tutorial_prints_what_it_says(page: Path, settings: Settings, tmp_path: Path) -> None:
    work_through(page.read_text(), settings, tmp_path)


def test_the_page_of_upserts_prints_what_it_says(settings: Settings, tmp_path: Path) -> None:
    page = Path("docs/upserts.md").read_text()
    for name in ("users", "customers"):
        before, _, _ = page.partition(f"this as `{name}.json`")
        (tmp_path / f"{name}.json").write_text(_JSON.findall(before)[-1])
    shell(settings, tmp_path, "frazil start")
    work_through(page, settings, tmp_path)


def work_through(page: str, settings: Settings, folder: Path) -> None:
    """Run the commands of a page; what it shows behind them has to be among what they print, in this order."""
    shown: list[str] = []
    for kind, text in _BLOCK.findall(page):
        if kind == "bash":
            shown += map(words, shell(settings, folder, text).splitlines())
            continue
        for wanted in map(words, text.splitlines()):
            pattern = re.compile(".*".join(re.escape(part.strip()) for part in wanted.split("…")))
            found = next((number for number, line in enumerate(shown) if pattern.match(line)), None)
            assert found is not None, f"{wanted!r} is not behind what was found before:\n" + "\n".join(shown)
            del shown[: found + 1]
