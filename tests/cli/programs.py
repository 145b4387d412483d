"""The program in a process of its own, as a user runs and interrupts it, or in this one, without its start."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping

import pytest
from typer.testing import CliRunner

from frazil.cli.main import main
from frazil.environment.settings import Settings
from tests.waits import PATIENCE_S


def program(settings: Settings, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start it with nothing in its environment but the settings; standard error goes into standard output."""
    return subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-m", "frazil.cli.main", *arguments],
        env=dict(settings.env),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=_heed_interrupts,
    )


def run_here(env: Mapping[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    """Let the program run in this process, to its end: to start one takes longer than most of what it does."""
    with CliRunner().isolation(stdin, env) as (out, err, _):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        sys.stderr.flush()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def text_here(env: Mapping[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Like `run_here`, with the output as text."""
    ran = run_here(env, *arguments, stdin=stdin)
    out, err = (written.decode().replace("\r\n", "\n") for written in (ran.stdout, ran.stderr))
    return subprocess.CompletedProcess(ran.args, ran.returncode, out, err)


def _heed_interrupts() -> None:
    """Background jobs of a shell are started with SIGINT ignored, and what they start inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below `nohup`


def finished(process: subprocess.Popen[str], timeout: float = PATIENCE_S) -> tuple[int, str]:
    """Exit code and output once the program has ended; fails, and kills it, when that takes too long."""
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        raise AssertionError(f"it has not ended within {timeout:.0f} s: {out}") from None
    return process.returncode, out


def output_until(process: subprocess.Popen[str], text: str) -> str:
    """What the program has printed, up to the line with `text`; fails when it ends without it."""
    assert process.stdout is not None
    shown = ""
    for line in process.stdout:
        shown += line
        if text in line:
            return shown
    raise AssertionError(shown)
