"""The `frazil` command: one program for the stack, the worker, data and queries."""

import errno
import os
import signal
import sys
import threading
from importlib import import_module
from pkgutil import iter_modules

from typer.completion import completion_init  # type: ignore[attr-defined]

from frazil.cli import connect, verbs
from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import PROGRAM
from frazil.cli.ui.program import app as app
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, FrazilError, StackUnavailable, UsageError

_COMPLETING = "_FRAZIL_COMPLETE"
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

for package in (connect, verbs):
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)


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
            exec("")  # noqa: S102 - else Python ends itself by SIGINT when one has come during an `exec`, as in imports
            sys.stdout.flush()
    except (UsageError, ConfigError) as error:
        _fail(str(error), 2)
    except StackUnavailable as error:
        home = Settings.load().home
        _fail(f"{str(error).rstrip('.')}. The home of this stack is {home}; FRAZIL_HOME names another.", 1)
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


def _fail(message: str, code: int) -> None:
    make_console(stderr=True).print(f"frazil: {message}", soft_wrap=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
