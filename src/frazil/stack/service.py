"""Background service: starts, answers "ready?", stops."""

import fcntl
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path

import psutil

from frazil.environment.private_file import private_home
from frazil.environment.settings import Settings
from frazil.errors import ServiceDied, StackError
from frazil.stack.logfile import bound, start_keeper, tail_since
from frazil.stack.patience import LIMIT, Patience
from frazil.stack.ports import Port, listening, require_free
from frazil.stack.process import ProcessFile, exit_code, is_alive, kill, minimal_env, terminate

Progress = Callable[[str], None]

MIN_FREE_BYTES = 1 << 30
ANSWER_S = 10.0
"""Seconds that a service may take for one answer."""
_POLL_S, _CALM_POLL_S, _CALM_AFTER_S = 0.1, 0.5, 10.0
_TOLD_S = 5


class Status(StrEnum):
    """RUNNING answers; UNREADY has a process that does not answer; DIED lost its process; STOPPED was never started."""

    RUNNING = "running"
    UNREADY = "unready"
    DIED = "died"
    STOPPED = "stopped"


@dataclass(frozen=True)
class State:
    """State of a service. `started` is in seconds since the epoch; `reason` says why it is not running."""

    status: Status
    pid: int | None = None
    started: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Service:
    """A process with its ports, log file `<home>/logs/<name>.log` and process file `<home>/run/<name>.json`.

    `command` is called on every start, after the ports were found free, and may prepare what the process needs.
    `ready` returns None when the service answers, else what is missing. `env` is the whole environment of the process.
    `complete` is called at the end of every start, also of a service that ran already, and may be repeated. `user` runs
    the process where root may not; `stop_signal` asks it to end.
    `start_timeout` is how many seconds it may be silent while it starts: it neither writes to its log nor uses the
    processor.
    """

    name: str
    home: Path
    command: Callable[[Progress], Sequence[str]]
    ready: Callable[[], str | None]
    ports: tuple[Port, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    start_timeout: float = 120
    complete: Callable[[], object] = lambda: None
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def process_file(self) -> ProcessFile:
        """File that remembers the service's process."""
        return ProcessFile(self.home / "run" / f"{self.name}.json")

    def state(self) -> State:
        """Look at the process, its ports and its answer."""
        process = self.process_file.find()
        if process is None:
            if self.process_file.read() is None:
                return State(Status.STOPPED)
            return State(Status.DIED, reason=f"its process ended by itself; see {self.log}")
        try:
            missing = self._missing(process)
            return State(
                Status.UNREADY if missing else Status.RUNNING, process.pid, process.create_time(), missing or ""
            )
        except psutil.NoSuchProcess:
            return State(Status.DIED, reason=f"its process ended by itself; see {self.log}")

    def start(self, progress: Progress, timeout: float | None = None) -> bool:
        """Start and wait until it is ready; False when it was running already.

        Raises PortTaken, JavaNotFound, ServiceDied when it ends or is silent for `timeout` seconds (default: the
        service's own), or StackError; then no process of this start is left.
        """
        timeout = self.start_timeout if timeout is None else timeout
        with self._exclusive():
            running = self.process_file.find()
            if running:
                self._await_ready(running, timeout, progress)
                self.complete()
                return False
            kill(self.process_file.stragglers())
            self._require_space()
            require_free([(self.name, self.ports)])
            command = self.command(progress)
            bound(self.log)
            log_start = self.log.stat().st_size if self.log.exists() else 0
            process = self._launch(command)
            try:
                start_keeper(self.home, minimal_env(self.env))
                self._await_ready(process, timeout, progress, log_start)
                self.complete()
            except BaseException:
                terminate(process, 5, self.stop_signal)
                self.process_file.forget()
                raise
            return True

    def stop(self, timeout: float = 30) -> bool:
        """Stop by `stop_signal`, after `timeout` seconds by SIGKILL of the process group; False when nothing ran."""
        if not self.process_file.path.parent.exists():
            return False
        with self._exclusive():
            process = self.process_file.find()
            if process:
                terminate(process, timeout, self.stop_signal)
            kill(self.process_file.stragglers())
            self.process_file.forget()
            return process is not None

    def _launch(self, command: Sequence[str]) -> psutil.Process:
        try:
            return self.process_file.launch(command, self.env, self.cwd, self.log, self.user)
        except OSError as error:
            raise ServiceDied(f"{self.name} cannot be started: {error}. Nothing was started.") from error

    def _await_ready(
        self, process: psutil.Process, timeout: float, progress: Progress, log_start: int | None = None
    ) -> None:
        """Wait for the answer of a process; `log_start` is given when this call started it."""
        patience = Patience(process, self.log, timeout)
        while True:
            try:
                missing = self._missing(process)
            except psutil.NoSuchProcess:
                missing = "its process ended"
            if not is_alive(process):
                raise self._died(exit_code(process), log_start)
            if missing is None:
                return
            waited_s = patience.waited_s
            told_s = int(waited_s) // _TOLD_S * _TOLD_S
            progress(f"waiting for {self.name}{f', for {told_s} s now: {missing}' if told_s else ''}")
            if patience.ends():
                raise self._silent(missing, waited_s, timeout, log_start)
            time.sleep(_POLL_S if waited_s < _CALM_AFTER_S else _CALM_POLL_S)

    def _silent(self, missing: str, waited_s: float, timeout: float, log_start: int | None) -> ServiceDied:
        left = "It was stopped again" if log_start is not None else "It was running before and is left alone"
        return ServiceDied(
            f"{self.name} did not become ready in {waited_s:.0f} s: {missing}. For {timeout:.0f} s it has written "
            f"nothing to its log and has hardly used the processor. {left}. See {self.log}, then try again"
            f"{'' if log_start is not None else f' with: restart {self.name}'}. {LIMIT} says how many seconds it may "
            "be silent."
        )

    def _missing(self, process: psutil.Process) -> str | None:
        """Read back the ports (a service may take others silently), then ask the service."""
        absent = {port.number for port in self.ports} - listening(process)
        if absent:
            return f"it does not listen on port {', '.join(map(str, sorted(absent)))}"
        return self.ready()

    def _died(self, code: int | None, log_start: int | None) -> StackError:
        lines = tail_since(self.log, log_start or 0, 15)
        if any("No space left on device" in line for line in lines):
            return StackError(
                f"{self.name} ended while starting: the disk of {self.home} is full. {_free_text(self.home)}. "
                "Free some space and try again."
            )
        shown = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
        ended = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        return ServiceDied(
            f"{self.name} ended{ended} while starting. Its last words in {self.log}:\n{shown}\n"
            "It is stopped; remove the cause and try again."
        )

    def _require_space(self) -> None:
        if shutil.disk_usage(self.home).free < MIN_FREE_BYTES:
            raise StackError(
                f"the disk of {self.home} is nearly full. {_free_text(self.home)}; {self.name} needs "
                f"{MIN_FREE_BYTES >> 20} MiB and was not started. Free some space, or set FRAZIL_HOME to a folder on "
                "another disk."
            )

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Allow one start or stop of the service at a time, across processes."""
        path = private_home(self.home) / "run" / f"{self.name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def embedded(settings: Settings) -> partial[Service]:
    """Give what makes the services of a home: each runs there, with no more of the environment than all need."""
    env, home = minimal_env(settings.env), settings.home
    return partial(Service, home=home, env=env, cwd=home, start_timeout=settings.start_timeout)


def start_all(
    services: Iterable[Service],
    progress: Progress,
    on_ready: Callable[[Service, bool, float], None] = lambda service, started, seconds: None,
) -> None:
    """Start services in order; when one fails, those before it go on running.

    `on_ready` gets each service, whether this call started it (else it ran already), and the seconds it took.
    """
    for service in services:
        begin = time.monotonic()
        started = service.start(progress)
        on_ready(service, started, time.monotonic() - begin)


def _free_text(home: Path) -> str:
    return f"{shutil.disk_usage(home).free >> 20} MiB are free"
