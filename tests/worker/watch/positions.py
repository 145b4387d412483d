"""Positions in memory: the real ones need a broker and a catalog, and have tests of their own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.connectors.positions import Changes
from frazil.errors import FrazilError
from frazil.pipeline.offsets import Offsets
from tests.waits import PATIENCE_S


@dataclass
class KeptPositions:
    """Offsets by connector. `alter` sets `asked`, waits for `gate` and raises `problem` when there is one."""

    offsets: dict[str, Offsets] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    problem: FrazilError | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def of(self, name: str, config: Mapping[str, str]) -> Offsets:
        return self.offsets.get(name, {})

    def alter(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        self.asked.set()
        self.gate.wait(PATIENCE_S)
        if self.problem is not None:
            raise self.problem
        known = {} if changes is None else {**self.of(name, config), **changes}
        self.offsets[name] = {key: offset for key, offset in known.items() if offset is not None}
        return self.remarks
