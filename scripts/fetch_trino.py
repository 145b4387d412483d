"""Puts Trino and a Java for it into the cache, for the tests that need them."""

from __future__ import annotations

import sys

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.trino_files import resolve_trino
from frazil.stack.trino_java import trino_java


def main() -> None:
    """Fetch what is missing; exit code 1 with the reason on standard error when that fails."""
    settings = Settings.load()
    try:
        with progress(make_console(stderr=True)) as show:
            resolve_trino(trino_java(settings.cache, show, settings.env), settings.cache, show, settings.env)
    except FrazilError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
