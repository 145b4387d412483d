"""The local checkpoint of a query: a cache that is made anew at each start (DESIGN: truth about progress)."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from frazil.errors import TerminalError
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets


class Checkpoint:
    """The checkpoint folder of a connector; each start has one of its own inside `base`, and ends those before it."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self.folder = base

    def reset(self) -> None:
        """An empty folder: the positions come from the table."""
        self.remove()
        self.folder = self._base / uuid.uuid4().hex
        self.folder.mkdir(parents=True)

    def remove(self) -> None:
        """Remove what is there; a query that was given up ends when it writes."""
        shutil.rmtree(self._base, ignore_errors=True)

    def end_of(self, batch_id: int) -> Offsets:
        """Where a batch ends, as Spark has written it before the batch ran."""
        path = self.folder / "offsets" / str(batch_id)
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            raise TerminalError(
                f"the checkpoint file {path} of a running query cannot be read: {error.strerror}. Nothing of this "
                "batch was committed; restart the connector, it continues from the position in the table."
            ) from error
        return offsets.from_json(lines[-1])
