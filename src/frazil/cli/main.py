"""The `frazil` command: one program for the stack, the worker, data and queries."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from typing import Annotated

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from frazil.cli.connect import change, context, get, lifecycle, offsets, plugins, wait
from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import HELP, Program
from frazil.cli.ui.usage import PROGRAM, examples
from frazil.cli.verbs import (
    ask,
    completion,
    data,
    deadletters,
    demo,
    maintain,
    password,
    publish,
    query,
    report,
    sql,
    stack,
    status,
    validate,
    verify,
    worker,
)
from frazil.errors import ConfigError, FrazilError, UsageError

_COMPLETING = "_FRAZIL_COMPLETE"
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="frazil",
    cls=Program,
    help=HELP,
    epilog=examples(
        "demo",
        "status",
        "apply -f connectors/",
        'sql "SELECT name, count(*) AS calls FROM apilogs GROUP BY name"',
        "validate -h  # options and examples of one verb",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for module in (
    stack,
    status,
    data,
    query,
    sql,
    ask,
    report,
    deadletters,
    maintain,
    publish,
    validate,
    verify,
    demo,
    worker,
):
    module.register(app)
for module in (get, change, lifecycle, wait, offsets, plugins, context, password, completion):
    module.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Entry point.

    Exit code 0 for success, 1 for a failure or a reader that has closed the output, 2 for wrong usage or
    configuration, 130 for Ctrl+C and for a terminal that is closed.
    """
    _end_with_the_terminal()
    try:
        try:
            if _COMPLETING in os.environ:
                completion_init()
            app(arguments, prog_name=PROGRAM)
        finally:
            sys.stdout.flush()
    except (UsageError, ConfigError) as error:
        _fail(str(error), 2)
    except FrazilError as error:
        _fail(str(error), 1)
    except KeyboardInterrupt:  # another one, while the first was dealt with
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno in _NOT_WRITTEN:
            _drop_output()
            _fail(f"what it writes to takes no more: {error.strerror}. The output is not complete; make room there.", 1)
        if error.filename is None:
            raise
        _fail(
            f"{error.filename}: {error.strerror}. Nothing more was done. Correct it, or name folders that can be "
            "written with FRAZIL_HOME and FRAZIL_CACHE, and try again.",
            1,
        )


def _end_with_the_terminal() -> None:
    """Let SIGHUP end a verb as Ctrl+C does, with what it cleans up; under `nohup` it stays without effect."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


def _drop_output() -> None:
    """Let what is still to be written go nowhere, instead of failing again at the end of the program."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"frazil {version('frazil')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself; the text shown as help is `app`'s."""


def _fail(message: str, code: int) -> None:
    make_console(stderr=True).print(f"frazil: {message}", soft_wrap=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
