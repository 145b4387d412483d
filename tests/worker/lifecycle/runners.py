"""A runner that does what the test says: the real one needs Spark and has tests of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from frazil.declare.providers import Resolved
from frazil.engine.runner_api import RunnerStatus


class ScriptedRunner:
    """Runs until it is stopped or told to fail; keeps a diary of its life in its factory."""

    def __init__(
        self, name: str, config: Mapping[str, str], factory: ScriptedFactory, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.config = config
        self._changed = changed
        self._factory = factory
        self._status = RunnerStatus("UNASSIGNED")

    def start(self) -> None:
        self._factory.before_start(self.name)
        self._factory.note(self.name, "start")
        self._status = RunnerStatus("RUNNING")

    def stop(self, timeout: float = 30.0) -> None:
        self._factory.before_stop(self.name)
        if self._status.state != "UNASSIGNED":
            self._factory.note(self.name, "stop")
        self._status = RunnerStatus("UNASSIGNED")

    def status(self) -> RunnerStatus:
        return self._status

    def fail(self, trace: str, transient: bool = False, fenced: bool = False, outgrown: bool = False) -> None:
        self._status = RunnerStatus("FAILED", trace, transient, fenced, outgrown)
        self._changed()


class ScriptedFactory:
    """Makes runners; `before_start` and `before_stop` may be replaced to wait or to raise."""

    def __init__(self) -> None:
        self.before_start: Callable[[str], None] = lambda name: None
        self.before_stop: Callable[[str], None] = lambda name: None
        self.runners: dict[str, list[ScriptedRunner]] = {}
        self.diary: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def __call__(self, name: str, resolved: Resolved, changed: Callable[[], None]) -> ScriptedRunner:
        runner = ScriptedRunner(name, resolved.config, self, changed)
        with self._lock:
            self.runners.setdefault(name, []).append(runner)
        return runner

    def note(self, name: str, what: str) -> None:
        with self._lock:
            self.diary.append((name, what))

    def life(self, name: str) -> list[str]:
        with self._lock:
            return [what for who, what in self.diary if who == name]

    def last(self, name: str) -> ScriptedRunner:
        return self.runners[name][-1]
