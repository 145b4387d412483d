"""The start script and `scripts/bootstrap.sh`, in a copy of the checkout that shares this environment's programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from frazil.environment.variables import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "kafka-connect-iceberg-sink.sh"
INPUTS = ("requirements.lock", "pyproject.toml")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose path has spaces, with an environment that is up to date."""
    root = tmp_path.resolve() / "my checkout" / "frazil"
    (root / ".venv" / "made-from").mkdir(parents=True)
    (root / "scripts").mkdir()
    (root / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    for name in (SCRIPT, "scripts/bootstrap.sh", *INPUTS):
        shutil.copy(ROOT / name, root / name)
    for name in INPUTS:
        shutil.copy(ROOT / name, root / ".venv" / "made-from" / name)
    return root


def run(script: Path | str, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES and name != "FRAZIL_PROGRAM"}
    return subprocess.run([script, *arguments], cwd=cwd, env=clean | variables, capture_output=True, text=True)


def home_of(shown: subprocess.CompletedProcess[str]) -> Path:
    """The home that `logs kafka` has looked into."""
    before, _, path = shown.stderr.strip().partition("(")
    assert before == "kafka has no log yet ", shown.stderr
    return Path(path.removesuffix(")")).parent.parent


def test_from_its_own_folder(checkout: Path) -> None:
    shown = run(f"./{SCRIPT}", "logs", "kafka", cwd=checkout)
    assert shown.returncode == 0
    assert home_of(shown) == checkout / ".frazil"


def test_from_another_folder_and_through_links_it_is_the_same_stack(checkout: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (tmp_path / "absolute link").symlink_to(checkout / SCRIPT)
    (elsewhere / "relative link").symlink_to(Path("..") / (checkout / SCRIPT).relative_to(tmp_path.resolve()))
    (elsewhere / "link to a link").symlink_to(tmp_path / "absolute link")
    for script in elsewhere.iterdir():
        assert home_of(run(script, "logs", "kafka", cwd=elsewhere)) == checkout / ".frazil"


def test_variables_come_from_the_callers_folder_then_from_the_checkout(checkout: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (checkout / ".env").write_text(f"FRAZIL_HOME={tmp_path}/a\n")
    assert home_of(run(checkout / SCRIPT, "logs", "kafka", cwd=elsewhere)) == tmp_path.resolve() / "a"
    (elsewhere / ".env").write_text(f"export FRAZIL_HOME={tmp_path}/b\n")
    assert home_of(run(checkout / SCRIPT, "logs", "kafka", cwd=elsewhere)) == tmp_path.resolve() / "b"
    shown = run(checkout / SCRIPT, "logs", "kafka", cwd=elsewhere, FRAZIL_HOME=str(tmp_path / "c"))
    assert home_of(shown) == tmp_path.resolve() / "c"


def test_help_and_errors_name_the_script_as_it_was_called(checkout: Path) -> None:
    shown = run(f"./{SCRIPT}", "nope", cwd=checkout)
    assert shown.returncode == 2
    assert f"Try './{SCRIPT} -h' for help." in shown.stderr
    assert f"  ./{SCRIPT} produce apilogs -n 500\n" in run(f"./{SCRIPT}", "produce", "-h", cwd=checkout).stdout


def test_an_argument_arrives_as_it_is(checkout: Path) -> None:
    shown = run(f"./{SCRIPT}", "start", "a  'service' $HOME *", cwd=checkout)
    assert "unknown service a  'service' $HOME *; known" in shown.stderr


def test_without_a_python_it_says_what_is_needed(checkout: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "dirname", "readlink", "cmp"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    shutil.rmtree(checkout / ".venv")
    shown = run(f"./{SCRIPT}", "status", cwd=checkout, PATH=str(programs), PYTHON="")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "Python 3.11, 3.12 or 3.13 is needed and none was found" in shown.stderr
    assert not (checkout / ".venv").exists()
