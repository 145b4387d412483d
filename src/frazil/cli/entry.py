"""The entry of the `frazil` command: quiet about Ctrl+C while the program is loaded and while it ends."""

import os
import signal


def main() -> None:
    """Run the command; outside of it Ctrl+C ends the process at once with exit code 130."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    from frazil.cli.main import main as run

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    finally:
        if heeded:
            signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    os._exit(130)
