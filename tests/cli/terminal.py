"""The program on a terminal of its own, as a person uses it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from types import TracebackType

from tests.waits import PATIENCE_S

CTRL_C, CTRL_D, TAB, UP = "\x03", "\x04", "\t", "\x1b[A"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])|\x07")


class Terminal:
    """`with Terminal(env, "sql") as shell`: type with `send`, read with `until`; ends the program at the end."""

    def __init__(self, env: Mapping[str, str], *arguments: str, columns: int = 100) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        variables = {name: value for name, value in env.items() if name != "COLUMNS"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "frazil.cli.main", *arguments],
            # this terminal does not answer questions about its cursor
            env={**variables, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=_own_terminal,
        )
        os.close(theirs)
        self._unread = ""
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def send(self, text: str) -> None:
        """Type; Enter is a carriage return."""
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """What was shown up to `text`, without escape sequences; fails when it does not appear in time."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self._plain():
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not appear within {PATIENCE_S} s; shown: {self.shown[-3000:]!r}"
            if select.select([self._ours], [], [], left)[0]:
                block = self._read()
                assert block, f"the program has ended without {text!r}; shown: {self.shown[-3000:]!r}"
                self._unread += block
        before, _, after = self._plain().partition(text)
        self._unread = after
        return before + text

    def end(self) -> int:
        """Exit code, once the program has ended by itself."""
        deadline = time.monotonic() + PATIENCE_S
        while select.select([self._ours], [], [], max(0, deadline - time.monotonic()))[0]:
            block = self._read()
            if not block:
                return self.process.wait(PATIENCE_S)
            self._unread += block
        raise AssertionError(f"it has not ended within {PATIENCE_S} s; shown: {self.shown[-3000:]!r}")

    def _plain(self) -> str:
        return _ESCAPES.sub("", self._unread).replace("\r\n", "\n")

    def _read(self) -> str:
        try:
            block = os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # Linux answers so once the other side is closed
            block = ""
        self.shown += block
        return block


def _own_terminal() -> None:
    """Make the terminal the one that Ctrl+C interrupts, whatever started the tests."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
