"""Runs every test in parts, side by side: most of them wait for a service more than they compute.

Arguments go to each part's pytest. Each part has its own services. A part that passed is one line; the output of one
that failed follows when it has ended, and the last lines of the run say again what failed and why. A few failed tests
run once more, alone, as a diagnosis: the last lines say which of them passed then. The run has failed all the same.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ROOT / ".venv" / "bin" / "pytest"

_WORKERS = "tests/acceptance/"
_SPARK = "spark and not outage"
_STACK = "stack and not spark and not trino"
_ALONE = "not stack and not spark and not trino"
_QUERIES = ("tests/cli/", "tests/sql/", "tests/minio/")
_HEART = ("tests/pipeline/", "tests/connectors/", "tests/engine/")
_ALL = ("tests/",)
_NEEDS_SERVICES = r"^pytestmark = .*mark\.(stack|spark|trino)"


@dataclass(frozen=True)
class Choice:
    """The tests of a part: their marks, the folders where they are and those where they are not.

    `half` is 0 or 1 for every other file of them, beginning with the first or the second.
    """

    marks: str
    folders: tuple[str, ...] = _ALL
    but: tuple[str, ...] = ()
    covers: bool = False
    half: int | None = None

    def files(self) -> list[str]:
        """The files that can have some: collecting all tests in each part would cost more than some parts take."""
        wanted = self.marks.split()[0]
        alone = wanted == "not"
        pattern = re.compile(_NEEDS_SERVICES if alone else rf"mark\.{wanted}\b", re.MULTILINE)
        found = (path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("tests/**/test_*.py")))
        here = (name for name in found if name.startswith(self.folders) and not name.startswith(self.but))
        chosen = [name for name in here if alone is not bool(pattern.search((ROOT / name).read_text()))]
        return chosen if self.half is None else chosen[self.half :: 2]


PARTS = {
    "workers": Choice(_SPARK, (_WORKERS,), half=0),
    "other workers": Choice(_SPARK, (_WORKERS,), half=1),
    "broker, store and catalog": Choice(_STACK, but=_QUERIES, half=0),
    "more of broker, store and catalog": Choice(_STACK, but=_QUERIES, half=1),
    "Spark": Choice(_SPARK, but=(_WORKERS,)),
    "kills and outages": Choice("outage"),
    "without services": Choice(_ALONE, but=_HEART),
    "pipeline, connectors and engine": Choice(_ALONE, _HEART, covers=True),
    "verbs and queries": Choice(_STACK, _QUERIES),
    "Trino": Choice("trino"),
}
"""What runs beside what; the longest first."""
LEAST_COVERED = 90
"""Percent of the heart's lines and branches that its tests reach."""
COVERED = ("src/frazil/connectors", "src/frazil/engine", "src/frazil/pipeline")
NOT_COVERED = (  # what is nothing without a JVM
    "*/connectors/iceberg/maintenance/*",
    "*/connectors/iceberg/spark/*",
    "*/connectors/sql/query.py",
    "*/engine/daemon.py",
    "*/engine/spark.py",
)
NOT_HERE = "not faults"
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Services that live for a minute or two do not pay for the second compiler."""
AT_ONCE = 4
FEW = 3
"""A part that failed for more causes does not need a second run to be understood."""
SHOWN = 20
"""Lines about the failures of a part at the end."""
_WIDTH = 250
_SAY_EVERY_S = 60
_END_S = 60
_FAILED = 1
_UNCOVERED = 2
_NO_TESTS = 5
_GOOD = (0, _NO_TESTS)
_MEASURE = (
    *(str(ROOT / ".venv" / "bin" / "python"), "-W", "ignore::RuntimeWarning", "-m", "slipcover", "--branch"),
    *("--source", ",".join(COVERED), "--omit", ",".join(NOT_COVERED), "--skip-covered"),
    *("--fail-under", str(LEAST_COVERED), "-m", "pytest"),
)
"""SlipCover, which costs a few percent where a tracer doubles the time. It warns of what concerns tests' own code."""


@dataclass
class Part:
    """A running pytest and the file of its output."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    cache: Path
    started: float
    passed_alone: bool = False

    def progress(self) -> str:
        """The last percentage that pytest printed."""
        found = re.findall(rb"\[ *(\d+)%\]", self.output.read_bytes())
        return f"{self.name} {found[-1].decode() if found else '0'} %"

    def show(self) -> None:
        """Print pytest's last line, and all that it printed when it failed."""
        seconds = time.monotonic() - self.started
        if self.process.returncode in _GOOD:
            print(f"{self.name}: {self.lines()[-1].strip('= ')}", flush=True)
            return
        print(f"\n== {self.name} ended with {self.process.returncode} after {seconds:.0f} s", flush=True)
        sys.stdout.buffer.write(self.output.read_bytes())
        sys.stdout.flush()

    def lines(self) -> list[str]:
        """What pytest printed, up to its summary: services that fixtures forgot may speak after it."""
        lines = self.output.read_text(errors="replace").splitlines() or ["(nothing)"]
        ends = [number for number, line in enumerate(lines, 1) if re.fullmatch(r"=+ .* in [\d.]+s.* =+", line)]
        return lines[: ends[-1]] if ends else lines

    def named(self) -> list[str]:
        """A line for each test that failed, with its cause in pytest's words."""
        return [line for line in self.lines() if re.match(r"(FAILED|ERROR) \S*::", line)]

    def causes(self) -> int:
        """How many different ones: a service that did not start is one, of all tests that need it."""
        return len({line.partition(" - ")[2] or line for line in self.named()})

    def reasons(self) -> list[str]:
        """The first failures, or pytest's last lines when it named none."""
        named = self.named()
        more = [f"and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
        told = self.output.read_text(errors="replace").splitlines() if self.uncovered() else self.lines()
        return [line[:_WIDTH] for line in named[:SHOWN] or told[-SHOWN:]] + more

    def uncovered(self) -> bool:
        """Whether it reached too little of the code, which is told behind pytest's summary."""
        return self.process.returncode == _UNCOVERED


def start(name: str, folder: Path, arguments: list[str], suffix: str = "") -> Part:
    """Start the pytest of a part; its output goes to a file in `folder`, whose name ends with `suffix`."""
    path = folder / name.replace(" ", "-")
    cache = path.with_suffix(".cache")
    path = path.with_name(f"{path.name}{suffix}.txt")
    choice = PARTS[name]
    measured = choice.covers and not arguments  # which may choose a few tests, that cover little
    command = [*(_MEASURE if measured else [str(PYTEST)]), "-m", f"({choice.marks}) and {NOT_HERE}"]
    command += ["-o", f"cache_dir={cache}", *arguments]
    if not any(Path(argument.partition("::")[0]).exists() for argument in arguments):
        command += choice.files()
    environment = {"JAVA_TOOL_OPTIONS": QUICK_JAVA, "COLUMNS": str(_WIDTH), **os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile the same files
    with path.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    return Part(name, process, path, cache, time.monotonic())


def run_again(part: Part, folder: Path, arguments: list[str]) -> None:
    """Run the failed tests of a part alone, and note in `part` whether they all passed."""
    print("\nonce more, alone:", *part.reasons(), sep="\n  ", flush=True)
    again = start(part.name, folder, ["--last-failed", "--last-failed-no-failures", "none", *arguments], "-again")
    try:
        part.passed_alone = again.process.wait() == 0
    except KeyboardInterrupt:
        end([again])
        raise
    again.show()


def end(parts: Sequence[Part]) -> None:
    """End parts as Ctrl+C does, once each, so that their fixtures stop the services; after a while, or when interrupted
    again, kill what is left of them and of what they have started."""
    started = [child for part in parts for child in _children(part.process.pid)]
    for part in parts:
        part.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _END_S
    try:
        for part in parts:
            part.process.wait(max(deadline - time.monotonic(), 0))
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        print("what has not ended is killed", flush=True)
    for part in parts:
        part.process.kill()
        part.process.wait()
    for child in started:
        with suppress(psutil.NoSuchProcess):  # which also tells a process that has got the same id since
            child.kill()


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def run_all(folder: Path, arguments: list[str]) -> list[Part]:
    """Each part, having run. A KeyboardInterrupt ends the parts first."""
    waiting = list(PARTS)
    running: list[Part] = []
    ended: list[Part] = []
    said = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(start(waiting.pop(0), folder, arguments))
            time.sleep(0.5)
            for part in [part for part in running if part.process.poll() is not None]:
                running.remove(part)
                ended.append(part)
                part.show()
            if running and time.monotonic() - said > _SAY_EVERY_S:
                said = time.monotonic()
                print("; ".join(part.progress() for part in running), flush=True)
    except KeyboardInterrupt:
        end(running)
        raise
    for part in ended:
        if part.process.returncode == _FAILED and 0 < part.causes() <= FEW:
            run_again(part, folder, arguments)
    return ended


def main(arguments: list[str]) -> int:
    """The exit code: 0 when every part passed at once, 130 after an interrupt. The outputs stay when one did not."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="frazil-tests-"))
    try:
        parts = run_all(folder, arguments)
    except KeyboardInterrupt:
        return 130
    failed = [part for part in parts if part.process.returncode not in _GOOD]
    if failed:
        print(f"\nThe outputs of all parts are in {folder}.")
        for part in failed:
            alone = "; alone, the same tests passed" if part.passed_alone else ""
            print(f"\nfailed: {part.name} (exit code {part.process.returncode}{alone})", *part.reasons(), sep="\n  ")
        return 1
    shutil.rmtree(folder)
    if all(part.process.returncode == _NO_TESTS for part in parts):
        print("\nno test was run")
        return 1
    print("\nevery part passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
