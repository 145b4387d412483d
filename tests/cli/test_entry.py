from __future__ import annotations

import signal
import subprocess
import sys

import pytest

_WHILE_LOADING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "frazil.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""
_WHILE_ENDING = """
import atexit, os, signal, sys
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
"""
_RUN = """
sys.argv[1:] = ["--version"]
from frazil.cli.entry import main
main()
"""


@pytest.mark.parametrize("moment", [_WHILE_LOADING, _WHILE_ENDING])
@pytest.mark.parametrize(("before", "code"), [(signal.SIG_DFL, 130), (signal.SIG_IGN, 0)])
def test_an_interrupt_before_and_after_a_verb_leaves_no_trace(moment: str, before: signal.Handlers, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", moment + _RUN],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
    )
    assert (done.returncode, done.stderr) == (code, "")
