"""The runs of the worker of a home folder: what one has sent before it was killed may be committed in the next."""

from __future__ import annotations

import uuid
from pathlib import Path

from frazil.connectors.sink import Runs
from frazil.environment.private_file import write_private

_KEPT = 100


def begin_run(file: Path) -> Runs:
    """Note a new run in the file, which has the last ones, each by an id in a line. Raises OSError."""
    earlier = file.read_text().split() if file.exists() else []
    current = str(uuid.uuid4())
    write_private(file, "".join(f"{run}\n" for run in [*earlier, current][-_KEPT:]))
    return Runs(current, frozenset(earlier))
