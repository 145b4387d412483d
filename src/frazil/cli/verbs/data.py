"""Verbs that make data: `produce`, `generate`, `continuous`, `init`."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import Records, progress
from frazil.cli.ui.value_lines import Lines, send_lines
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.minio.deployment.deploy import Step
    from frazil.minio.generators.schemas import Format
    from frazil.minio.records.kinds import TableKind
    from frazil.pipeline.schemas.encode import Encode

_KINDS: tuple[TableKind, ...] = ("api", "error", "audit")

ODD_SHARE = 0.001
# Of 20 operations two end in an error record and one in an audit record.
_ERROR_SHARE, _AUDIT_SHARE = 0.1, 0.05

_MIX_LINES = 12
_LONGEST_INTERVAL_S = 86_400


@verb(
    "produce",
    "produce apilogs -n 500",
    "produce orders --values orders.jsonl  # your own records",
    "produce orders --records orders.jsonl --schema order.avsc  # with keys, headers, times",
)
def produce(
    topic: Annotated[
        str | None, typer.Argument(help="Topic; all three log topics when left out. Any topic with --values.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", "--count", help="Log records for each topic.", show_default="100")
    ] = None,
    values: Annotated[
        Path | None,
        typer.Option(
            "--values",
            help="Produce the lines of this file (`-`: standard input) instead, each as the value of a record.",
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records", help="Produce records of this file (`-`: standard input) instead, one in JSON on each line."
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            help="Avro schema, JSON Schema or .proto file of these values: it encodes them, and the registry gets it.",
        ),
    ] = None,
    key_schema: Annotated[Path | None, typer.Option("--key-schema", help="The same for the keys of --records.")] = None,
) -> None:
    """Produce log records, or records of your own.

    With --values or --records the topic is created when it is missing, with as many partitions as the broker's default
    says. Empty lines are left out. A line of --records is {"value": ..., "key": ..., "headers": {"name": ...},
    "partition": 0, "timestamp": "2026-11-29T10:30:00Z"}, of which only the value is needed, and null makes a tombstone;
    a text, {"base64": ...} and any other JSON are written as they are. With a schema each value is JSON that becomes
    Avro, or the first message of a .proto file, or gets the id of its JSON Schema; the registry is that of
    SCHEMA_REGISTRY_URL, else the stack's.
    """
    settings = Settings.load()
    source = values or records
    if source is not None:
        option = "--records" if values is None else "--values"
        if topic is None or count is not None or (values and records):
            raise UsageError(
                f"{option} needs a topic, and takes no -n nor another file of lines: `produce TOPIC {option} FILE`"
            )
        if key_schema is not None and records is None:
            raise UsageError("--key-schema needs --records: `produce TOPIC --records FILE --key-schema FILE`")
        send_lines(settings, topic, Lines(source, records is not None, schema, key_schema))
        return
    if schema is not None or key_schema is not None:
        raise UsageError("--schema needs --values or --records: `produce TOPIC --values FILE --schema FILE`")
    kinds = _kinds_of_topic(settings, topic)
    count = 100 if count is None else count
    _check_count(count)
    for kind in kinds:
        acknowledged, _, seconds = send(settings, kind, count, odd=0.0)
        typer.echo(f"{settings.topics[kind]}: {counted(acknowledged, 'record')} in {seconds:.1f} s")


@verb("generate api -n 100000", "generate all -n 10000 --odd", "generate api --format avro")
def generate(
    kind: Annotated[str, typer.Argument(help="api, error, audit or all.")],
    count: Annotated[int, typer.Option("-n", "--count", help="Records of each kind.")] = 100,
    odd: Annotated[bool, typer.Option("--odd", help=f"{ODD_SHARE:.1%} of the records are odd.")] = False,
    form: Annotated[
        str | None, typer.Option("--format", help="avro, protobuf or json-schema, with the schema in the registry.")
    ] = None,
) -> None:
    """Generate records with the mix of a real cluster.

    A summary of the mix follows. With --odd some records are broken, legacy or have new fields. With --format they go
    to topics of their own, such as `apilogs-avro`, as producers with Confluent's serializers write them; the registry
    is that of SCHEMA_REGISTRY_URL, else the stack's.
    """
    from frazil.minio.generators.odd import ODD_LABEL
    from frazil.minio.generators.schemas import Format

    settings = Settings.load()
    kinds: dict[str, tuple[TableKind, ...]] = {k: (k,) for k in _KINDS} | {"all": _KINDS}
    if kind not in kinds:
        raise UsageError(f"unknown kind `{kind}`; choose one of: {', '.join(kinds)}")
    _check_count(count)
    if form is not None and form not in tuple(Format):
        raise UsageError(f"unknown format `{form}`; choose one of: {', '.join(Format)}")
    if form is not None and odd:
        raise UsageError("--odd makes records that fit no schema; leave it out with --format")
    total, mixes, started = 0, Counter[str](), time.monotonic()
    for one in kinds[kind]:
        topic, encode = settings.topics[one], None
        if form is not None:
            topic = f"{topic}-{form}"
            encode = _with_schema(settings, one, Format(form), topic)
        acknowledged, mix, seconds = send(settings, one, count, ODD_SHARE if odd else 0.0, topic, encode)
        typer.echo(f"{topic}: {counted(acknowledged, 'record')}, {acknowledged / seconds:,.0f} ops/s")
        total += acknowledged
        mixes.update({f"{one} {label}": n for label, n in mix.items()})
    seconds = time.monotonic() - started
    oddities = sum(n for label, n in mixes.items() if label.split(" ", 1)[1].startswith(ODD_LABEL))
    of_these = f" ({oddities:,} of them odd)" if odd else ""
    typer.echo(f"\n{counted(total, 'record')}{of_these} in {seconds:.1f} s, {total / seconds:,.0f} ops/s. Mix:")
    _print_mix(mixes, total)


@verb("continuous", "continuous -i 0.5 -b 20")
def continuous(
    interval: Annotated[float, typer.Option("-i", "--interval", help="Seconds between two rounds.")] = 2.0,
    batch: Annotated[int, typer.Option("-b", "--batch", help="Operations in each round.")] = 5,
) -> None:
    """Produce a few operations every few seconds until Ctrl+C."""
    from frazil.clients.kafka.produce import RecordProducer

    settings = Settings.load()
    if not 0 < interval <= _LONGEST_INTERVAL_S:
        raise UsageError(f"--interval must be more than 0 seconds, not {interval:g}, and at most a day")
    if batch <= 0:
        raise UsageError(f"--batch must be more than 0, not {batch}")
    acknowledged, started = Counter[str](), time.monotonic()
    typer.echo(f"{batch} operations every {interval:g} s; stop with Ctrl+C")
    try:
        with RecordProducer(settings.bootstrap_servers) as producer:
            while True:
                for topic, records in _round(settings, batch, timedelta(seconds=interval)):
                    try:
                        producer.send(topic, records, len(records))
                    finally:
                        acknowledged[topic] += producer.acknowledged
                line = ", ".join(f"{topic} {n:,}" for topic, n in acknowledged.items())
                typer.echo(f"{datetime.now(UTC):%H:%M:%SZ}  {line}")
                time.sleep(interval)
    except KeyboardInterrupt:
        seconds = time.monotonic() - started
        typer.echo(f"\nStopped after {seconds:.0f} s: {counted(acknowledged.total(), 'record')} acknowledged")
        _print_mix(acknowledged, acknowledged.total())


class Part(StrEnum):
    """Part that `init` makes on request."""

    AGGREGATES = "aggregates"


@verb("init", "init --with aggregates")
def init(
    parts: Annotated[
        list[Part] | None,
        typer.Option("--with", help="Also connectors that count calls, latencies and failed logins while they come."),
    ] = None,
) -> None:
    """Create topics, tables and connectors; safe to repeat.

    Also the warehouse and the namespace of the tables, and the catalog on the Trino server at TRINO_URL when that is
    set. What is there already is left as it is.
    """
    from frazil.cli.connect.outcome import tell_failed
    from frazil.clients.connect import ConnectClient
    from frazil.minio.deployment.deploy import Step, deploy, deploy_aggregates

    outcomes: Counter[str] = Counter()
    connectors: dict[str, str] = {}

    def report(step: Step) -> None:
        outcomes[step.outcome] += 1
        if step.what == "connector":
            connectors[step.name] = step.outcome
        typer.echo(f"{step.what:<10} {step.name:<28} {step.outcome}")

    settings = Settings.load()
    deploy(settings, report)
    if parts:
        deploy_aggregates(settings, report)
    if settings.trino_external:
        from frazil.clients.trino import create_catalog

        report(Step("catalog", f"{settings.sql_catalog} (Trino)", "created" if create_catalog(settings) else "exists"))
    with ConnectClient(settings.connect_access) as client:
        failed = tell_failed(client, connectors, changed=any(one != "exists" for one in connectors.values()))
    told = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items())
    typer.echo(f"{counted(failed, 'connector')} FAILED: {told}" if failed else f"Ready: {told}")
    if failed:
        raise typer.Exit(1)


def _kinds_of_topic(settings: Settings, topic: str | None) -> list[TableKind]:
    if topic is None:
        return list(_KINDS)
    kinds = [kind for kind in _KINDS if settings.topics[kind] == topic]
    if not kinds:
        raise UsageError(
            f"`{topic}` is no topic of log records, which are: {', '.join(settings.topics.values())}. Records of your "
            f"own go to any topic: `produce {topic} --values FILE`"
        )
    return kinds


def _check_count(count: int) -> None:
    if count <= 0:
        raise UsageError(f"-n must be more than 0, not {count}")


def _with_schema(settings: Settings, kind: TableKind, form: Format, topic: str) -> Encode:
    """Create a topic when it is missing, register the schema of its values, and make the function that encodes them."""
    from frazil.clients.kafka.topics import ensure_topics
    from frazil.clients.registry.access import RegistryAccess
    from frazil.clients.registry.client import RegistryClient
    from frazil.minio.generators.schemas import Format, fitted, schema_text
    from frazil.pipeline.schemas.encode import encoder

    client = RegistryClient(RegistryAccess((settings.registry_url,)))
    encode = encoder(client, f"{topic}-value", schema_text(kind, form), protobuf=form is Format.PROTOBUF)
    fit = fitted(form)
    ensure_topics(settings.bootstrap_servers, {topic: (-1, {})})
    return lambda record: encode(fit(record))


def send(
    settings: Settings,
    kind: TableKind,
    count: int,
    odd: float = 0.0,
    topic: str | None = None,
    encode: Encode | None = None,
) -> tuple[int, Counter[str], float]:
    """Send records to a topic, by default that of their kind.

    Gives the acknowledged records, their mix and the seconds it took.
    """
    from frazil.clients.kafka.produce import RecordProducer
    from frazil.minio.generators.generate import records

    mix: Counter[str] = Counter()
    topic = topic or settings.topics[kind]
    started = time.monotonic()
    with RecordProducer(settings.bootstrap_servers) as producer:
        try:
            with progress(make_console(stderr=True)) as show:
                made = records(kind, count, odd=odd, mix=mix)
                acknowledged = producer.send(
                    topic, map(encode, made) if encode else made, count, lambda done: show(Records(topic, done, count))
                )
        except KeyboardInterrupt:
            typer.echo(
                f"{topic}: stopped; at least {producer.acknowledged:,} of {count:,} records are in Kafka", err=True
            )
            raise
    return acknowledged, mix, time.monotonic() - started


def _round(settings: Settings, batch: int, span: timedelta) -> Iterator[tuple[str, list[bytes]]]:
    from frazil.minio.generators.generate import records

    errors = sum(random.random() < _ERROR_SHARE for _ in range(batch))  # noqa: S311
    audits = sum(random.random() < _AUDIT_SHARE for _ in range(batch))  # noqa: S311
    counts: tuple[tuple[TableKind, int], ...] = (("api", batch), ("error", errors), ("audit", audits))
    for kind, count in counts:
        if count:
            yield settings.topics[kind], list(records(kind, count, span=span))


def _print_mix(mix: Counter[str], total: int) -> None:
    common = mix.most_common(_MIX_LINES)
    for label, n in common:
        typer.echo(f"  {label:<40} {n:>12,}  {n / total:6.1%}")
    rest = total - sum(n for _, n in common)
    if rest > 0:
        typer.echo(f"  {'others':<40} {rest:>12,}  {rest / total:6.1%}")
