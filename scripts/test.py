"""Runs every test in parts, side by side: most of them wait for a service more than they compute.

Arguments go to each part's pytest. Each part has its own services; its output follows when it has ended. A few tests
that failed while the machine was full run once more, alone: those that pass then are named and do not count.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ROOT / ".venv" / "bin" / "pytest"

PARTS = {
    "kills and outages": "outage",
    "workers": "spark and not outage",
    "broker, store and catalog": "stack and not spark and not trino",
    "without services": "not stack and not spark and not trino",
    "Trino": "trino",
}
"""What runs beside what; the longest first."""
NOT_HERE = "not faults"
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Services that live for a minute or two do not pay for the second compiler."""
AT_ONCE = 4
FEW = 3
"""A part with more failures has not failed for want of processors."""
_SAY_EVERY_S = 60
_FAILED = 1
_NO_TESTS = 5


@dataclass
class Part:
    """A running pytest and the file of its output."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    cache: Path
    started: float

    def progress(self) -> str:
        """The last percentage that pytest printed."""
        found = re.findall(rb"\[ *(\d+)%\]", self.output.read_bytes())
        return f"{self.name} {found[-1].decode() if found else '0'} %"

    def show(self) -> None:
        """Print what pytest printed."""
        print(f"\n== {self.name} ({time.monotonic() - self.started:.0f} s)", flush=True)
        sys.stdout.buffer.write(self.output.read_bytes())
        sys.stdout.flush()

    def failures(self) -> list[str]:
        """The tests that failed."""
        found = self.cache / "v" / "cache" / "lastfailed"
        return sorted(json.loads(found.read_bytes())) if found.exists() else []


def start(name: str, folder: Path, arguments: list[str]) -> Part:
    """Start the pytest of a part; its output goes to a file in `folder`."""
    path = folder / name.replace(" ", "-")
    cache = path.with_suffix(".cache")
    command = [str(PYTEST), "-m", f"({PARTS[name]}) and {NOT_HERE}", "-o", f"cache_dir={cache}", *arguments]
    environment = {"JAVA_TOOL_OPTIONS": QUICK_JAVA, **os.environ}
    with path.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    return Part(name, process, path, cache, time.monotonic())


def run_again(part: Part, folder: Path, arguments: list[str]) -> int:
    """The exit code of the failed tests of a part when they run alone."""
    names = part.failures()
    print(f"\nonce more, alone: {', '.join(names)}", flush=True)
    again = start(part.name, folder, ["--last-failed", "--last-failed-no-failures", "none", *arguments])
    try:
        code = again.process.wait()
    except KeyboardInterrupt:
        again.process.terminate()
        again.process.wait()
        raise
    again.show()
    if code == 0:
        print(f"\nfailed beside the others and passed alone: {', '.join(names)}", flush=True)
    return code


def run_all(folder: Path, arguments: list[str]) -> dict[str, int]:
    """The exit code of each part. A KeyboardInterrupt ends the parts first."""
    failed: list[Part] = []
    waiting = list(PARTS)
    running: list[Part] = []
    codes: dict[str, int] = {}
    said = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(start(waiting.pop(0), folder, arguments))
            time.sleep(0.5)
            for part in [part for part in running if part.process.poll() is not None]:
                running.remove(part)
                part.show()
                codes[part.name] = part.process.returncode
                if codes[part.name] == _FAILED and 0 < len(part.failures()) <= FEW:
                    failed.append(part)
            if running and time.monotonic() - said > _SAY_EVERY_S:
                said = time.monotonic()
                print("; ".join(part.progress() for part in running), flush=True)
    except KeyboardInterrupt:
        for part in running:
            part.process.terminate()
        for part in running:
            part.process.wait()
        raise
    return codes | {part.name: run_again(part, folder, arguments) for part in failed}


def main(arguments: list[str]) -> int:
    """The exit code: 0 when every part passed, 130 after an interrupt."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        try:
            codes = run_all(Path(folder), arguments)
        except KeyboardInterrupt:
            return 130
    failed = [name for name, code in codes.items() if code not in (0, _NO_TESTS)]
    if failed or all(code == _NO_TESTS for code in codes.values()):
        print(f"\nfailed: {', '.join(failed) or 'no test was run'}")
        return 1
    print("\nevery part passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
