"""A background process that outlives the command that started it, found again through a file.

The file holds process id and start time; a process id that the operating system has given to somebody else since then
is recognised by its start time and never signalled.
"""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from frazil.environment.private_file import MASK, open_private

_CLOCK_TOLERANCE_S = 2.0
# A process file that names another id was not written here; 0 would mean every process without a session of ours.
_FIRST_PID, _LAST_PID = 1, 1 << 22
# Children of this very process, so that their exit status is collected and they do not stay zombies.
_children: dict[int, subprocess.Popen[bytes]] = {}


_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")
_INHERITED = ("PATH", "HOME", "TMPDIR", *_LOCALE, "TZ", "JAVA_TOOL_OPTIONS")


def minimal_env(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that every program needs, and no others: servers also read credentials and options from theirs."""
    return {name: env[name] for name in _INHERITED if name in env} | utf8_locale(env)


def utf8_locale(env: Mapping[str, str]) -> dict[str, str]:
    """The variable with which Java reads paths as UTF-8, as Python does, where the locale is unset or plain ASCII."""
    locale = next((env[name] for name in _LOCALE if env.get(name)), "C")
    return {"LC_ALL": "C.UTF-8"} if locale in ("C", "POSIX") else {}


@dataclass(frozen=True)
class ProcessFile:
    """Remembers one background process in a JSON file."""

    path: Path

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path | None, log: Path, user: str | None = None
    ) -> psutil.Process:
        """Start a command in a session of its own, its output appended to `log`, and remember it. With `user` it runs
        as that one, of no other group than its own.

        Raises OSError when the command cannot be executed.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with open_private(log, "ab") as output:
            child = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                umask=MASK,
                **({} if user is None else _identity(user)),
            )
        _children[child.pid] = child
        process = psutil.Process(child.pid)
        self._remember(process)
        return process

    @contextlib.contextmanager
    def of_this_process(self) -> Iterator[None]:
        """Remember this process while it runs, unless it or another one that runs is remembered."""
        mine = self.find() is None
        if mine:
            self._remember(psutil.Process())
        try:
            yield
        finally:
            if mine:
                self.forget()

    def _remember(self, process: psutil.Process) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"pid": process.pid, "started": process.create_time()}))
        draft.replace(self.path)

    def read(self) -> tuple[int, float] | None:
        """Process id and start time (seconds since the epoch) of the remembered process; None without a file."""
        try:
            content = json.loads(self.path.read_text())
            pid, started = int(content["pid"]), float(content["started"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, OverflowError):
            # Cut short by a full disk: nothing can be found through it, and the ports show whether something runs.
            return None
        return (pid, started) if _FIRST_PID < pid <= _LAST_PID else None

    def find(self) -> psutil.Process | None:
        """The remembered process when it is alive."""
        remembered = self.read()
        return _alive(*remembered) if remembered else None

    def stragglers(self) -> list[psutil.Process]:
        """Processes that a dead remembered process has left behind in its session."""
        remembered = self.read()
        if remembered is None or self.find():
            return []
        pid, started = remembered
        if psutil.pid_exists(pid) and not _is_same(pid, started):
            return []  # the id has a new owner, so its old session is gone
        return [p for p in psutil.process_iter() if p.pid != pid and _session(p.pid) == pid and is_alive(p)]

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def _identity(user: str) -> dict[str, Any]:
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def is_alive(process: psutil.Process) -> bool:
    """Whether the process, or one of its threads, still runs.

    The first thread of a program in Go or Java may be a zombie while others still hold the ports.
    """
    child = _children.get(process.pid)
    if child is not None:
        return child.poll() is None
    try:
        return process.is_running() and (process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1)
    except psutil.NoSuchProcess:
        return False


def exit_code(process: psutil.Process) -> int | None:
    """Exit code of an ended process (negative: the signal); None when it is alive or was not our child."""
    child = _children.get(process.pid)
    return child.poll() if child else None


def terminate(process: psutil.Process, timeout: float, number: signal.Signals = signal.SIGTERM) -> None:
    """A signal to the process; what is left of its process group after `timeout` seconds gets SIGKILL."""
    try:
        family = [process, *process.children(recursive=True)]
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
    _await_end([process], timeout)
    survivors = _await_end(family, 0 if is_alive(process) else 3)
    if survivors:
        if process in survivors:
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.killpg(process.pid, signal.SIGKILL)
        kill(survivors)


def kill(processes: Sequence[psutil.Process]) -> None:
    """SIGKILL to each process, and wait until they are gone."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    _await_end(processes, 5)


def _await_end(processes: Sequence[psutil.Process], timeout: float) -> list[psutil.Process]:
    deadline = time.monotonic() + timeout
    while (alive := [p for p in processes if is_alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return alive


def _alive(pid: int, started: float) -> psutil.Process | None:
    return psutil.Process(pid) if _is_same(pid, started) and is_alive(psutil.Process(pid)) else None


def _is_same(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) < _CLOCK_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None
