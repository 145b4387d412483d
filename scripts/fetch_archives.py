"""Puts Trino with a Java for it, and the schema registry, into the cache, for the tests that need them."""

from __future__ import annotations

import sys

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.archives import install
from frazil.stack.java import find_java
from frazil.stack.registry import REGISTRY_FILES
from frazil.stack.trino import TRINO_FILES
from frazil.stack.trino_java import trino_java


def main() -> None:
    """Fetch what is missing; exit code 1 with the reason on standard error when that fails."""
    settings = Settings.load()
    try:
        with progress(make_console(stderr=True)) as show:
            cache, env = settings.cache, settings.env
            install(TRINO_FILES, trino_java(cache, show, env), cache, show, env)
            install(REGISTRY_FILES, find_java(env), cache, show, env)
    except FrazilError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
