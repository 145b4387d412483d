"""Patience with a process: as long as it gives signs of life, however slow the machine is."""

import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from frazil.environment.private_file import MASK
from frazil.errors import StackError

LIMIT = "FRAZIL_START_TIMEOUT"
"""Variable with the seconds that a part which starts may be silent."""
_POLL_S = 0.1
_BUSY = 0.02
"""Part of a processor's time, over the limit, that is a sign of life: who waits for something takes less."""


class Patience:
    """Watches a process with its children: its log grows, or it uses the processor, or it is silent.

    `limit_s` is how long it may be silent.
    """

    def __init__(self, process: psutil.Process, log: Path, limit_s: float) -> None:
        self._process = process
        self._log = log
        self._limit_s = limit_s
        self._begin = self._heard = time.monotonic()
        self._size, self._cpu_s = self._signs()

    @property
    def waited_s(self) -> float:
        """Seconds since the begin."""
        return time.monotonic() - self._begin

    def ends(self) -> bool:
        """Look again; true when the process was silent for the limit."""
        size, cpu_s = self._signs()
        if size != self._size or cpu_s - self._cpu_s >= _BUSY * self._limit_s:
            self._heard = time.monotonic()
            self._size, self._cpu_s = size, cpu_s
        return time.monotonic() - self._heard > self._limit_s

    def _signs(self) -> tuple[int, float]:
        """Size of the log in bytes, and the processor's time in seconds that the process and its children have had."""
        size = self._log.stat().st_size if self._log.exists() else 0
        try:
            family = [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return size, 0.0
        return size, sum(map(_cpu_s, family))


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def complaint(command: Sequence[str], env: Mapping[str, str], what: str, limit_s: float) -> str | None:
    """Run a program to its end; what it wrote to standard error when it failed, else None.

    Raises StackError when it was silent for the limit; it is ended then. `what` names it there.
    """
    with tempfile.NamedTemporaryFile() as log:
        child = subprocess.Popen(  # noqa: S603
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, env=dict(env), umask=MASK
        )
        try:
            patience = Patience(psutil.Process(child.pid), Path(log.name), limit_s)
            while child.poll() is None:
                if patience.ends():
                    raise StackError(
                        f"{what} did nothing for {limit_s:.0f} s and was ended. Try again, or let it be silent for "
                        f"more seconds with {LIMIT}."
                    )
                time.sleep(_POLL_S)
        finally:
            child.kill()
            child.wait()
        said = Path(log.name).read_text(errors="replace")
        return None if child.returncode == 0 else said or f"exit code {child.returncode}"
