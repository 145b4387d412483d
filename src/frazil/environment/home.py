"""The home of a stack where FRAZIL_HOME names none."""

import os
import sys
from pathlib import Path

NAME = ".frazil"
_ENVIRONMENTS = (".venv", "venv")


def nearest_home(here: Path, user: Path, prefix: Path | None = None) -> Path:
    """The nearest `.frazil` in a folder or above it, else beside the environment of this program, else of the user.

    The search ends at the folder of the environment `prefix`, so that each clone has its own. In folders above, homes
    of other users are none; neither is the folder of an environment that somebody else has made.
    """
    prefix = Path(sys.prefix) if prefix is None else prefix
    project = prefix.parent.resolve() if prefix.name in _ENVIRONMENTS and _is_own(prefix.parent) else None
    for folder in (here, *here.parents):
        home = folder / NAME
        if folder == project or (_is_there(home) and (folder == here or _is_own(home))):
            return home
    return (project or user) / NAME


def _is_there(home: Path) -> bool:
    try:
        return home.is_dir()
    except PermissionError:  # a folder above that this user may not enter
        return False


def _is_own(folder: Path) -> bool:
    return folder.stat().st_uid == os.getuid()
