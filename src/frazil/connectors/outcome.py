"""Outcomes of the replay of dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frazil.pipeline.letters.letter import Letter

Verdict = Literal["stored", "present", "skipped", "waits", "fails"]
"""Verdict on a dead letter: stored now; in the table already; nothing to store (a transform leaves it out); its
connector has not read past the record yet and may still store it itself; still refused. The first three close it."""


@dataclass(frozen=True)
class Outcome:
    """Outcome for a dead letter; `reason` says why it stays open."""

    letter: Letter
    verdict: Verdict
    reason: str = ""

    @property
    def closed(self) -> bool:
        """Whether the dead letter is closed."""
        return self.verdict not in ("waits", "fails")
