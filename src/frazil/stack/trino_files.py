"""Trino on disk: the server and its Iceberg plugin."""

from __future__ import annotations

from pathlib import Path

from frazil.stack.archives import ArchiveSet, unpack_tar, unpack_zip
from frazil.stack.ivy import Progress
from frazil.stack.transfer import Transfer

_UNPACKING = "unpacking Trino"


def _unpack(found: list[Path], draft: Path, progress: Progress) -> Path:
    """Unpack both archives below `draft`; returns the folder of the server, with the plugin in its place."""
    server, plugin = found
    before, total = server.stat().st_size, sum(path.stat().st_size for path in found)
    unpack_tar(server, draft / "server", lambda done: progress(Transfer(_UNPACKING, done, total)))
    unpack_zip(plugin, draft / "plugin", lambda done: progress(Transfer(_UNPACKING, before + done, total)))
    (top,), (inner,) = (draft / "server").iterdir(), (draft / "plugin").iterdir()
    (top / "plugin").mkdir(exist_ok=True)
    inner.rename(top / "plugin" / "iceberg")
    return top


TRINO_FILES = ArchiveSet("trino", "Trino", _unpack)
"""The server (`.tar.gz`) and its Iceberg plugin (`.zip`): a folder with `lib/` and `plugin/iceberg/`."""
