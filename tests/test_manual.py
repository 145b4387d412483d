"""The manual page has every verb, and man takes it as it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from frazil.cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "src" / "frazil.1"


def test_every_verb_is_on_the_page() -> None:
    text = PAGE.read_text().replace("\\-", "-")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    inner = [f"{verb} {name}" for verb, one in commands.items() for name in getattr(one, "commands", {})]
    assert [verb for verb in (*commands, *inner) if f'.SS "frazil {verb} ' not in text] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_the_page_has_no_mistake_for_man() -> None:
    command = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", str(PAGE)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""
