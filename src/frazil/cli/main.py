"""The `frazil` command: one program for the stack, the worker, data and queries."""

from __future__ import annotations

import os
import sys

import typer
from rich.console import Console

from frazil.cli import data, demo, query, stack, status, worker
from frazil.errors import ConfigError, FrazilError, UsageError

app = typer.Typer(
    name="frazil",
    help="MinIO logs in Kafka become Iceberg tables. `frazil demo` shows all of it; `frazil start` starts the stack.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (stack, status, data, query, demo, worker):
    module.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exit code 0 for success, 1 for a failure, 2 for wrong usage or configuration, 130 for Ctrl+C."""
    try:
        app(arguments, prog_name=os.environ.get("FRAZIL_PROGRAM", "frazil"))
    except (UsageError, ConfigError) as error:
        _fail(error, 2)
    except FrazilError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _fail(error: FrazilError, code: int) -> None:
    Console(stderr=True, soft_wrap=True).print(f"frazil: {error}", markup=False, highlight=False)
    sys.exit(code)


if __name__ == "__main__":
    main()
