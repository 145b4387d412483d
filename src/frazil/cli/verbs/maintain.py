"""The verb `maintain`: compaction, snapshots, manifests, metadata and orphan files of one table."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.arguments import known_table
from frazil.cli.ui.console import DryRunOption, make_console
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.iceberg.maintenance.policy import StepResult

_DAY_MS, _MINUTE_MS, _MIB = 86_400_000, 60_000, 1 << 20


@verb(
    "maintain apilogs --dry-run",
    "maintain apilogs",
    "maintain streaming.apilogs --expire --keep-days 0.5 --keep-snapshots 20",
    "maintain apilogs --compact --target-file-mb 128 -o json",
)
def maintain(
    table: Annotated[str, typer.Argument(help="`namespace.table`, or a table of NAMESPACE_NAME.")],
    compact: Annotated[bool, typer.Option("--compact", help="Make large data files of small ones.")] = False,
    manifests: Annotated[bool, typer.Option("--manifests", help="Make few manifests of many.")] = False,
    expire: Annotated[
        bool, typer.Option("--expire", help="Expire old snapshots, with the files that only they have.")
    ] = False,
    metadata: Annotated[
        bool, typer.Option("--metadata", help="Remove metadata files that the table has left behind.")
    ] = False,
    orphans: Annotated[bool, typer.Option("--orphans", help="Remove files that no snapshot names.")] = False,
    branch: Annotated[str, typer.Option("--branch", help="Compact this branch.")] = "main",
    target_file_mb: Annotated[
        int | None,
        typer.Option(
            "--target-file-mb",
            min=1,
            help="Size of compacted files in MiB; write.target-file-size-bytes of the table, else 512, when left out.",
        ),
    ] = None,
    hot_minutes: Annotated[
        int, typer.Option("--hot-minutes", min=0, help="Leave partitions alone that were written within that time.")
    ] = 60,
    keep_days: Annotated[
        float | None,
        typer.Option(
            "--keep-days",
            min=0,
            help="Keep younger snapshots; history.expire.max-snapshot-age-ms of the table, else 1 day, when left out.",
        ),
    ] = None,
    keep_snapshots: Annotated[
        int | None,
        typer.Option(
            "--keep-snapshots",
            min=1,
            help="Keep so many at least; history.expire.min-snapshots-to-keep of the table, else 100, when left out.",
        ),
    ] = None,
    orphan_days: Annotated[
        float, typer.Option("--orphan-days", min=0, help="Orphan files have to be so old; at least 1 without --force.")
    ] = 3,
    force: Annotated[
        bool, typer.Option("--force", help="Allow --orphan-days below 1; only when nobody writes to the table.")
    ] = False,
    dry_run: DryRunOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compact a table and remove what it does not need any more.

    All steps without --compact, --manifests, --expire, --metadata or --orphans; else those. Connectors may write
    meanwhile: their commits go first, and their positions are kept. The exit code is 1 when a step failed.
    """
    from frazil.connectors.iceberg.maintenance.policy import Policy, Step
    from frazil.connectors.iceberg.maintenance.run import Maintenance
    from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
    from frazil.engine import spark

    flags = {
        Step.COMPACT: compact,
        Step.MANIFESTS: manifests,
        Step.EXPIRE: expire,
        Step.METADATA: metadata,
        Step.ORPHANS: orphans,
    }
    policy = Policy(
        steps=frozenset(step for step, wanted in flags.items() if wanted) or frozenset(Step),
        branch=branch,
        hot_ms=hot_minutes * _MINUTE_MS,
        target_file_bytes=None if target_file_mb is None else target_file_mb * _MIB,
        keep_ms=None if keep_days is None else round(keep_days * _DAY_MS),
        keep_snapshots=keep_snapshots,
        orphan_age_ms=round(orphan_days * _DAY_MS),
        dry_run=dry_run,
        force=force,
    )
    settings = Settings.load()
    name = _existing(settings, table)
    with progress(make_console(stderr=True)) as say:
        say("starting Spark")
        session = spark.start(settings)
        try:
            runtime = IcebergRuntime(lambda: session, settings, say)
            policy = replace(policy, tasks=session.sparkContext.defaultParallelism)
            results = Maintenance(runtime, settings.catalog_properties(), say).run(name, policy)
        finally:
            session.stop()
    print_results(name, results, output, dry_run=dry_run)
    if any(result.failed for result in results):
        raise typer.Exit(1)


def _existing(settings: Settings, table: str) -> str:
    """The full name of a table; raises UsageError when it is not there, before Spark starts."""
    from frazil.clients.catalog import connect
    from frazil.sql.summary import known_tables

    return ".".join(
        known_table(table, settings.namespace, partial(known_tables, connect(settings.catalog_properties())))
    )


def print_results(name: str, results: list[StepResult], output: Output, *, dry_run: bool) -> None:
    """The steps as a table, or as one document."""
    if output is not Output.TABLE:
        steps = [asdict(result) | {"seconds": round(result.seconds, 1)} for result in results]
        typer.echo(as_text({"table": name, "dry_run": dry_run, "steps": steps}, output))
        return
    make_console().print(f"{name}{': nothing was changed; this would be done' if dry_run else ''}")
    numbers = ("BEFORE", "AFTER", "MB FREED", "SECONDS")
    show_table(("STEP", "OF", *numbers, "NOTE"), [_row(result) for result in results], numbers=numbers)


def _row(result: StepResult) -> tuple[str, ...]:
    freed = "" if result.bytes_removed is None else f"{result.bytes_removed / 1e6:,.1f}"
    before, after = ("" if number is None else f"{number:,}" for number in (result.before, result.after))
    note = f"FAILED: {result.note}" if result.failed else result.note
    return result.step, result.unit, before, after, freed, f"{result.seconds:.1f}", note
