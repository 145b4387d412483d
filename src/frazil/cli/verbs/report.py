"""The verb `report`: one HTML page with plots for a time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.engines import EngineOption, open_engine
from frazil.cli.ui.outfile import whole_file
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError

_FILE = Path("report.html")


@verb("report", "report --since 7d --output week.html", "report --since 2026-11-01 --until 2026-12-01")
def report(
    since: Annotated[
        str, typer.Option("--since", help="Begin: an age such as 30m, 24h or 7d, or a date or time (UTC).")
    ] = "24h",
    until: Annotated[str | None, typer.Option("--until", help="End, in the same forms; now when left out.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; what it held is replaced.")] = _FILE,
    engine: EngineOption = None,
) -> None:
    """Write an HTML page with plots of what happened in a time.

    Calls, errors, bytes per bucket, slowest calls, top talkers, sign-ins, refusals, deletions and changes. The page
    needs no network. The questions behind it are those of `ask`; exit code 1 when the catalog or Trino do not answer.
    """
    from frazil.minio.report.build import build
    from frazil.minio.report.page import html
    from frazil.minio.report.panels import Span
    from frazil.text.times import point_in_time

    now = datetime.now(UTC)
    span = Span(point_in_time(since, now), now if until is None else point_in_time(until, now))
    if span.start >= span.end:
        raise UsageError(f"--since {since} is not before --until {until or 'now'}; nothing was written")
    settings = Settings.load()
    with whole_file(output, "--output") as save:
        with progress(make_console(stderr=True)) as show:
            show("opening the catalog")
            page = html(build(open_engine(settings, engine), span, now, show)).encode()
        save(page)
    if output.is_file():
        typer.echo(f"{output}: {len(page) / 1000:,.0f} kB; open it with a browser: {output.resolve().as_uri()}")
