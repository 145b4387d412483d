"""The wheel, installed where nothing else of the project is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.isolation import isolated_settings

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    wheels = tmp_path / "wheels"
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, ".")
    (wheel,) = wheels.glob("frazil-*.whl")
    return wheel


def test_the_manual_page_is_where_man_finds_it_beside_the_program(wheel: Path) -> None:
    with ZipFile(wheel) as files:
        [page] = [name for name in files.namelist() if name.endswith(".data/data/share/man/man1/frazil.1")]
        assert files.read(page).decode() == (ROOT / "src" / "frazil.1").read_text()


@pytest.mark.spark
@pytest.mark.faults
@pytest.mark.timeout(900)
def test_the_demo_runs_from_a_wheel_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed, folder = tmp_path / "installed", tmp_path / "empty"
    folder.mkdir()
    python = installed / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", installed)
    uv = Path(sys.executable).with_name("uv")
    lock = ("-c", str(ROOT / "requirements.lock"))
    run(uv, "--system-certs", "pip", "install", "-q", "--python", python, *lock, f"frazil[sql] @ file://{wheel}")

    settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    env = {**settings.env, "PATH": "/usr/bin:/bin"}
    frazil = installed / "bin" / "frazil"
    assert run(python, "-P", "-c", "import frazil; print(frazil.__file__)", cwd=folder).startswith(str(installed))
    assert run(python, "-P", "-m", "frazil", "--version", cwd=folder) == run(frazil, "--version", cwd=folder)
    try:
        shown = run(frazil, "demo", cwd=folder, env=env)
        assert "14 created" in shown
        count = run(frazil, "sql", "--format", "csv", "SELECT count(*) AS n FROM apilogs", cwd=folder, env=env)
        assert count.split() == ["n", "1000"]
    finally:
        run(frazil, "stop", cwd=folder, env=env)
    assert [*folder.iterdir()] == []
