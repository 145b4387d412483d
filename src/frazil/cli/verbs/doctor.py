"""The verbs `doctor` and `support-bundle`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.output import Output, OutputOption, as_text
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.cli.ui.worker_connectors import worker_connectors
from frazil.cli.verbs.stack import requested, services
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.doctor.finding import Finding, Look

_STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}
_WIDTH = len("problem")


@verb("doctor", "doctor --all", "doctor -o json")
def doctor(
    every: Annotated[bool, typer.Option("--all", help="Show what is right too.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what is wrong, what it causes, what to do.

    It looks at the machine (memory, disk, clock), services and ports, Kafka, catalog, worker, and of each connector:
    state, login and rights, catalog and store, registry, what retention is about to delete, small files. Nothing is
    changed, but that a small object beside the position of an object sink tries whether its store keeps conditions. The
    exit code is 1 when there is a problem; warnings do not count.
    """
    found = _examined(_look(Settings.load()))
    counts = Counter(one.level for one in found)
    if output is not Output.TABLE:
        typer.echo(as_text({"healthy": not counts["problem"], "findings": [asdict(one) for one in found]}, output))
    else:
        _print(found, every=every)
    if counts["problem"]:
        raise typer.Exit(1)


def _look(settings: Settings) -> Look:
    from frazil.doctor.finding import Look

    connectors, _ = worker_connectors(settings)  # the check of the worker says why it does not tell
    return Look(settings, settings.providers(), [*services(settings), *requested(settings)], connectors)


def _examined(look: Look) -> list[Finding]:
    from frazil.doctor.examine import examine

    with progress(make_console(stderr=True)) as say:
        return list(examine(look, lambda name: say(f"looking at {name}")))


def _print(found: list[Finding], *, every: bool) -> None:
    console = make_console()
    counts = Counter(one.level for one in found)
    for one in found:
        if one.level == "ok" and not every:
            continue
        console.print(
            f"{one.level.upper():<{_WIDTH}}  {one.part}: {one.what}", style=_STYLES[one.level], soft_wrap=True
        )
        for word, text in (("causes", one.effect), ("do", one.cure)):
            if text:
                console.print(f"{'':<{_WIDTH}}  {word}: {text}", soft_wrap=True)
    parts = [counted(counts[level], level) for level in ("problem", "warning")]
    console.print(f"{', '.join(parts)}, {counts['ok']} as they should be" + ("" if every else " (--all shows them)"))


@verb("support-bundle", "support-bundle --to fault.tar.gz")
def support_bundle(
    to: Annotated[
        Path | None, typer.Option("--to", help="File to write; frazil-support-TIME.tar.gz when left out.")
    ] = None,
) -> None:
    """Pack an archive for a report, without secrets.

    It has the findings of `doctor`, connectors, settings and the ends of logs. Look into it before you send it: names
    of topics, tables and servers are in it, and logs may quote records.
    """
    from frazil.doctor.bundle import write_bundle

    look = _look(Settings.load())
    file = to or Path(f"frazil-support-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar.gz")
    try:
        names = write_bundle(look, _examined(look), file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}. Nothing was packed.") from None
    for name in names:
        typer.echo(f"  {name}")
    typer.echo(f"{file}: {file.stat().st_size:,} bytes; secrets are hidden, look into it before you send it")
