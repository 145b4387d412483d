from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "test.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("parts", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "parts", module)
    spec.loader.exec_module(module)
    return module


def test_outages_are_where_their_part_looks_for_them(script: ModuleType) -> None:
    root = SCRIPT.parents[1]
    marked = {path for path in (root / "tests").rglob("test_*.py") if "mark.outage" in path.read_text()} - {
        Path(__file__)
    }
    assert marked
    assert marked <= {root / name for name in script.PARTS["kills and outages"].files()}


@pytest.mark.parametrize(
    "names",
    [("workers", "other workers"), ("broker, store and catalog", "more of broker, store and catalog")],
)
def test_two_parts_share_their_tests(script: ModuleType, names: tuple[str, str]) -> None:
    one, other = (script.PARTS[name] for name in names)
    assert sorted(one.files() + other.files()) == replace(one, half=None).files()


def test_what_passes_alone_is_named_and_the_run_still_fails(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_them.py").write_text(
        "from pathlib import Path\n"
        f"MARK = Path({str(tmp_path)!r}) / 'mark'\n"
        "def test_passes():\n    pass\n"
        "def test_fails_once():\n    seen = MARK.exists()\n    MARK.touch()\n    assert seen\n"
    )
    monkeypatch.setattr(script, "PARTS", {"without services": script.PARTS["without services"]})
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    monkeypatch.setattr(script.tempfile, "mkdtemp", lambda prefix: str(outputs))
    assert script.main(["-q", str(tmp_path)]) == 1
    shown = capfd.readouterr().out
    assert "\nwithout services: 1 passed" in shown
    *_, name = shown.splitlines()
    assert "test_them.py::test_fails_once - " in name
    assert f"failed: without services (exit code 1; alone, the same tests passed)\n{name}" in shown
    assert {path.name for path in outputs.glob("*.txt")} == {"without-services.txt", "without-services-again.txt"}


def test_what_fails_alone_too_is_not_said_to_have_passed(
    script: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_them.py").write_text("def test_passes():\n    pass\ndef test_fails():\n    assert 0\n")
    arguments = ["-q", str(tmp_path)]
    part = script.start("without services", tmp_path, arguments)
    assert part.process.wait() == 1
    script.run_again(part, tmp_path, arguments)
    assert not part.passed_alone
    assert "1 failed in" in capfd.readouterr().out


def test_the_coverage_of_chosen_tests_is_not_held(script: ModuleType, tmp_path: Path) -> None:
    (name,) = [name for name, choice in script.PARTS.items() if choice.covers]
    part = script.start(name, tmp_path, ["--version"])
    assert part.process.wait() == 0
    assert "slipcover" not in part.process.args


def test_a_part_that_reaches_too_little_fails_and_says_so(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_them.py").write_text("from frazil.text import amounts\ndef test_passes():\n    pass\n")
    (name,) = [name for name, choice in script.PARTS.items() if choice.covers]
    monkeypatch.setattr(script.Choice, "files", lambda choice: [str(tmp_path)])
    part = script.start(name, tmp_path, [])
    assert part.process.wait() == 2
    assert any(line.startswith("(summary)") for line in part.reasons())


def test_the_last_lines_say_what_failed_and_why(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(
        "import pytest\n"
        "def test_passes():\n    pass\n"
        "@pytest.fixture(scope='session')\ndef service():\n    raise OSError('too many')\n"
        "@pytest.mark.parametrize('n', range(30))\ndef test_fails(n, service):\n    pass\n"
    )
    part = script.start("without services", tmp_path, ["-q", str(tmp_path)])
    assert part.process.wait() == 1
    reasons = part.reasons()
    assert len(reasons) == script.SHOWN + 1
    assert "test_them.py::test_fails[0] - OSError: too many" in reasons[0]
    assert reasons[-1] == "and 10 more"
    assert part.causes() == 1


def test_a_part_that_dies_is_told_by_its_last_words(
    script: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_them.py").write_text("import os\ndef test_dies():\n    os.abort()\n")
    part = script.start("without services", tmp_path, ["-q", "-p", "no:faulthandler", "-s", str(tmp_path)])
    assert part.process.wait() == -6
    part.show()
    assert "== without services ended with -6 after" in capfd.readouterr().out
    assert part.named() == []
    assert part.reasons() == part.lines()
