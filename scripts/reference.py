"""Makes the reference pages and `.env.sample` from the declarations in the code; `make docs` runs it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from prometheus_client import Metric
from scripts.manual import manual
from scripts.supply_chain import Part, jars, wheels
from starlette.routing import Route
from typer.core import TyperGroup
from typer.testing import CliRunner

from frazil import errors
from frazil.cli.main import app
from frazil.clients.kafka.groups import Behind
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_definition, parse_iceberg_sink
from frazil.connectors.keys.versions import VERSION
from frazil.connectors.objects.config.delta_keys import DELTA_KEYS
from frazil.connectors.objects.config.keys import OWN_KEYS, RECORD_KEYS, STORAGE_KEYS
from frazil.connectors.objects.config.partitioner_keys import PARTITIONER_KEYS
from frazil.connectors.objects.config.s3_keys import S3_KEYS
from frazil.connectors.sql.config import SQL_KEYS
from frazil.declare.definition import ConfigDef, Key, Required, as_text
from frazil.declare.registry_converters import REGISTRY_CONVERTERS, registry_keys
from frazil.engine.maintenance import MaintenanceReport
from frazil.engine.runner_api import Runner
from frazil.environment.variable import Variable
from frazil.environment.variables import VARIABLES
from frazil.environment.worker_keys import OTHER, WORKER_KEYS
from frazil.minio.questions.catalog import EVERY
from frazil.minio.questions.question import Question
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import SkipReason, State
from frazil.pipeline.transforms.plugin import Plugin
from frazil.pipeline.transforms.refused import REFUSED
from frazil.pipeline.transforms.registry import PREDICATES, TRANSFORMATIONS
from frazil.worker.actuator.app import actuator_app
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest import openapi
from frazil.worker.rest.app import ROUTES
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.metrics import Metrics

ROOT = Path(__file__).resolve().parent.parent

_NOTE = "<!-- Made by `make docs`; change the code, not this page. -->"
_WIDTH = 100
_REFUSED = "Not supported yet. "
_SMALLEST = {
    "name": "x",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "x",
    "iceberg.tables": "x.x",
    "iceberg.catalog.type": "rest",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
_TRANSFORMS = {
    "Kafka's": "org.apache.kafka.",
    "The Iceberg sink's": "org.apache.iceberg.",
    "frazil's": "frazil",
    "Debezium's": "io.debezium.",
}
"""Titles, and how the packages of their classes begin."""
_GROUPS = {
    "connector": "Connector, converters and topics",
    "iceberg": "Iceberg sink",
    "frazil": "frazil's own keys",
}
_ACTUATOR = {
    "/actuator": "Links to the other paths.",
    "/actuator/health": "Worker, connectors, broker and catalog: UP, DEGRADED (200) or DOWN (503).",
    "/actuator/health/liveness": "UP while the worker answers at all.",
    "/actuator/health/readiness": "UP once the worker takes requests, OUT_OF_SERVICE (503) before.",
    "/actuator/info": "Versions, operating system and process.",
    "/actuator/env": "Variables and worker keys that are set; secrets are hidden.",
    "/actuator/loggers": "Levels of all loggers; `/admin/loggers` of the REST API sets them.",
    "/actuator/loggers/{name}": "Level of one logger.",
    "/actuator/metrics": "Names of all metrics, in Spring's spelling.",
    "/actuator/metrics/{name}": "Measurements of a metric, and its tags; `?tag=connector:NAME` chooses.",
    "/actuator/prometheus": "All metrics in Prometheus' text format.",
    "/actuator/threaddump": "Threads of the worker's Python process, and what each is doing.",
    "/actuator/connector/health": "Share of dead letters (DEGRADED above 5 %, DOWN above 10 %) and connector states.",
    "/actuator/connector/metrics": "Sums over all connectors since the worker started.",
    "/actuator/connector/info": "Version, worker id and the state of each connector.",
}


@cache
def pages() -> dict[Path, str]:
    """Text of every generated file by its path inside the repository."""
    reference = Path("docs/reference")
    return {
        reference / "connector-keys.md": connector_keys(),
        reference / "object-sink-keys.md": object_sink_keys(),
        reference / "worker-keys.md": worker_keys(),
        reference / "transforms.md": transforms(),
        reference / "environment.md": environment(),
        reference / "metrics.md": metrics(),
        reference / "cli.md": cli(),
        reference / "rest.md": rest(),
        reference / "openapi.json": json.dumps(openapi.document(ROUTES), indent=2) + "\n",
        reference / "errors.md": error_tree(),
        reference / "questions.md": questions(),
        reference / "third-party.md": third_party(),
        Path("src/frazil.1"): manual(VERSION),
        Path(".env.sample"): env_sample(),
    }


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *(map(_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """Text that stays inside its cell, with `<` outside of code as text."""
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def page(title: str, *parts: str) -> str:
    """A page from its title and paragraphs."""
    return "\n\n".join([f"# {title}", _NOTE, *(part.strip("\n") for part in parts)]) + "\n"


def definition() -> ConfigDef:
    """Every key of the Iceberg sink, with the options of the JSON converter."""
    return iceberg_sink_definition(_SMALLEST)


def connector_keys() -> str:
    """Keys of the Iceberg sink, with what each one does here."""
    found = definition()
    keys = [*found.keys.values(), *found.families.values()]
    parts = []
    for group, title in _GROUPS.items():
        chosen = [key for key in keys if _group(key) == group]
        header = ("Key", "Type", "Default", "Importance", "Meaning", "Here")
        parts += [f"## {title}", table(header, map(_key_row, chosen))]
    header = ("Key", "Type", "Default", "Importance", "Meaning", "Here")
    parts += ["## frazil.SqlConnector, beside those of the Iceberg sink", table(header, map(_object_row, SQL_KEYS))]
    for class_name in REGISTRY_CONVERTERS:
        header = ("Key", "Type", "Default", "Importance", "Meaning", "Here")
        rows = map(_object_row, registry_keys(class_name, "value", None))
        parts += [f"## {class_name}", table(header, rows)]
    return page(
        "Connector keys",
        "Keys of both generations of the Iceberg sink, `org.apache.iceberg.connect.IcebergSinkConnector` and "
        "`io.tabular.iceberg.connect.IcebergSinkConnector`: both classes take the same keys. A key with `*` stands for "
        'a family. The column "Here" tells where frazil departs from Kafka Connect: a key *without effect* is accepted '
        "and gives a warning in the worker's log; a value that is *refused* is an error when the connector is created. "
        "A name that is in none of these tables is accepted with a warning too.",
        *parts,
    )


def object_sink_keys() -> str:
    """Keys of the object sink, with what each one does here."""
    parts = []
    for title, keys in (
        ("Objects and rotation", STORAGE_KEYS),
        ("Partitioners", PARTITIONER_KEYS),
        ("Records", RECORD_KEYS),
        ("S3", S3_KEYS),
        ("frazil's own keys", OWN_KEYS),
        ("Delta tables", DELTA_KEYS),
    ):
        header = ("Key", "Type", "Default", "Importance", "Meaning", "Here")
        parts += [f"## {title}", table(header, map(_object_row, keys))]
    return page(
        "Object sink keys",
        "Keys of `io.confluent.connect.s3.S3SinkConnector` and `frazil.ObjectSinkConnector`, which are the same "
        "connector; [Object sinks](../object-sinks.md) tells how they work together. Keys of every connector (topics, "
        "converters, errors, transforms) are in [Connector keys](connector-keys.md). A key *without effect* is "
        "accepted with a warning, and so is a name that is in none of these tables.",
        *parts,
    )


def _object_row(key: Key) -> tuple[str, ...]:
    names, type_, default, importance, documentation, _ = _key_row(replace(key, recommended=()))
    here = f"No effect: {key.no_effect}." if key.no_effect else ""
    if key.recommended:
        here = f"One of: {', '.join(f'`{value}`' for value in key.recommended)}."
    return names, type_, default, importance, documentation, here


def worker_keys() -> str:
    """Keys of the worker, with what each one does here."""
    parts = []
    for group in dict.fromkeys(key.group for key in WORKER_KEYS):
        chosen = [key for key in WORKER_KEYS if key.group == group]
        if group == OTHER:
            rows = [(f"`{key.name}`", f"{key.no_effect}.") for key in chosen]
            parts += [f"## {group}", table(("Key", "Why it has no effect"), rows)]
        else:
            parts += [f"## {group}", table(("Key", "Type", "Default", "Meaning"), map(_worker_key_row, chosen))]
    return page(
        "Worker keys",
        "Keys of `worker.properties` and, with the prefix `CONNECT_`, of the environment; [The worker](../worker.md) "
        "tells how they are given. A key with `*` stands for a family. A key that is in none of these is accepted "
        "and named in the worker's log.",
        *parts,
    )


def _worker_key_row(key: Key) -> tuple[str, ...]:
    default = None if isinstance(key.default, Required) else as_text(key.default)
    return f"`{key.name}`", key.type, f"`{default}`" if default else "", key.documentation


def _group(key: Key) -> str:
    first = key.name.partition(".")[0]
    return first if first in _GROUPS else "connector"


def _key_row(key: Key) -> tuple[str, ...]:
    names = f"`{key.name}`" + "".join(f", also `{alias}`" for alias in key.aliases)
    default = "required" if isinstance(key.default, Required) else as_text(key.default)
    shown = default if default == "required" else f"`{default}`" if default else ""
    return names, key.type, shown, key.importance.lower(), key.documentation, _effect(key)


def _effect(key: Key) -> str:
    if key.no_effect:
        return f"No effect: {key.no_effect}."
    if key.recommended:
        accepted = [value for value in key.recommended if _refusal(key.name, value) is None]
        return f"Accepted: {', '.join(f'`{value}`' for value in accepted)}."
    probe = {"BOOLEAN": "true", "STRING": "x", "LIST": "x"}.get(key.type)
    refusal = None if probe is None or key.name in _SMALLEST and key.type != "BOOLEAN" else _refusal(key.name, probe)
    if refusal is None:
        return ""
    return f"{'`true`' if key.type == 'BOOLEAN' else 'Any value'} is refused. {refusal.rstrip('.')}."


def _refusal(name: str, value: str) -> str | None:
    """What to do instead, when a value is refused because the feature does not exist."""
    found = parse_iceberg_sink({**_SMALLEST, name: value}).errors.get(name, ())
    return next((text.partition(_REFUSED)[2] for text in found if _REFUSED in text), None)


def transforms() -> str:
    """Classes of transformations and predicates, each with its keys."""
    parts = []
    for title, start in _TRANSFORMS.items():
        parts.append(f"## {title}")
        for plugin in TRANSFORMATIONS.values():
            parts += _plugin(plugin) if plugin.packages[0].startswith(start) else []
    parts += ["### Refused classes", table(("Class", "Instead"), [(f"`{name}`", why) for name, why in REFUSED.items()])]
    parts.append("## Predicates")
    for predicate in PREDICATES.values():
        parts += _plugin(predicate)
    return page(
        "Transformations and predicates",
        "`transforms` lists aliases; `transforms.<alias>.type` is a class of this page, or the part of its name behind "
        "the last dot, and its keys are `transforms.<alias>.<key>`. `predicate` and `negate` are keys of every "
        "transformation. Predicates are declared in the same way, in `predicates`. How they are applied is told in "
        "[Transforms](../transforms.md). A key *without effect* is accepted with a warning.",
        *parts,
    )


def _plugin(plugin: Plugin) -> list[str]:
    names = ", ".join(f"`{name}`" for name in plugin.class_names)
    parts = [f"### {plugin.name}", plugin.documentation, names]
    if plugin.refused:
        parts.append(f"Refused: {plugin.refused}.")
    elif plugin.keys:
        header = ("Key", "Type", "Default", "Importance", "Meaning", "Here")
        parts.append(table(header, map(_key_row, plugin.keys)))
    return parts


def environment() -> str:
    """Every environment variable by group."""
    parts = []
    for group, variables in _variable_groups().items():
        parts.append(f"## {group}")
        if any(variable.no_effect for variable in variables):
            parts.append(table(("Variable", "Meaning", "Why it has no effect"), map(_unused_row, variables)))
        else:
            parts.append(table(("Variable", "Default", "Meaning", "Used by"), map(_variable_row, variables)))
    return page(
        "Environment variables",
        "Variables come from the environment of the process, then from the file `.env` of the working directory. A "
        "blank value counts as unset. `.env.sample` lists all of them. Names in angle brackets stand for the value of "
        "another variable.",
        *parts,
    )


def _variable_groups() -> dict[str, list[Variable]]:
    groups: dict[str, list[Variable]] = {}
    for variable in VARIABLES.values():
        groups.setdefault(variable.group, []).append(variable)
    return groups


def _variable_row(variable: Variable) -> tuple[str, ...]:
    default = f"`{variable.default}`" if variable.default else ""
    if variable.fallback:
        default = f"`{variable.fallback}`, else {default}"
    return f"`{variable.name}`", default, variable.meaning, variable.used_by


def _unused_row(variable: Variable) -> tuple[str, ...]:
    return f"`{variable.name}`", variable.meaning, f"{variable.no_effect}."


def env_sample() -> str:
    """`.env.sample`: every variable, commented out."""
    lines = [
        "# Copy this file to .env and uncomment what you change. Variables of the process environment win over it.",
        "# Each line shows the default. An address that is set, even to its default, means a part of yours: frazil",
        "# then uses it and neither starts nor stops it. Made by `make docs` from src/frazil/environment/variables.py.",
    ]
    for group, variables in _variable_groups().items():
        lines += ["", f"## {group}"]
        for variable in variables:
            why = f" No effect: {variable.no_effect}." if variable.no_effect else ""
            lines += [f"# {variable.meaning}{why}", f"#{variable.name}={_plain_default(variable)}"]
    return "\n".join(lines) + "\n"


def _plain_default(variable: Variable) -> str:
    """The default when nothing else is set either."""

    def value(found: re.Match[str]) -> str:
        return "~" if found[1] == "HOME" else _plain_default(VARIABLES[found[1]])

    return re.sub(r"<(\w+)>", value, variable.default)


def third_party() -> str:
    """Software of others, with versions and licences."""

    def rows(parts: Iterable[Part]) -> list[tuple[str, ...]]:
        return [(f"[{part.name}]({part.url})", part.version, part.licence) for part in parts]

    header = ("Name", "Version", "Licence")
    return page(
        "Third-party software",
        "What frazil takes from others. Wheels are those of `requirements.lock` that the program needs, with all its "
        "extras; jars those of its lock files, some of which are downloaded on request only. Both are compared with "
        "SHA-256 checksums before they are used. `make sbom` writes the same list as an SPDX document.",
        "## Wheels",
        table(header, rows(wheels())),
        "## Jars and archives",
        table(header, rows(jars())),
    )


def metrics() -> str:
    """Metric families, with the labels that their samples have."""
    families = sorted(_observed().registry.collect(), key=lambda family: family.name)
    rows = [
        (f"`{_exposed(family)}`", family.type, ", ".join(_labels(family)), f"{family.documentation.rstrip('.')}.")
        for family in families
    ]
    return page(
        "Metrics",
        "The worker serves them at `/actuator/prometheus` on the actuator's port. `kafka_connector_*` are the names "
        "that dashboards know; `frazil_*` is what those lack, and `kafka_connect_*` have the names that the JMX "
        "exporter gives those of Kafka Connect, with one task for each connector. Counters start at 0 with the worker.",
        table(("Metric", "Type", "Labels", "Meaning"), rows),
    )


def exposition() -> str:
    """What a scrape gets of a worker whose metrics all have samples."""
    return _observed().exposition()[0].decode()


def _observed() -> Metrics:
    lag = {("c", "t", 0): Behind(3, 3)}
    made = Metrics(
        lambda: lag,
        lambda: {"c": "RUNNING"},
        lambda: {"c": "closed"},
        lambda: {"c": 0},
        events=lambda present: {("c", "running"): 1},
    )
    skipped: dict[SkipReason, int] = {"tombstone": 1}
    batch = BatchReport("c", 3, 1, 1, 1, 1, 1, 1.0, 1.0, 1.0, {"t": 1}, {"t": 1}, skipped, {("t", 0): 3}, [0.1], 1, 0.1)
    made.observe(replace(batch, newest={"n.t": 1}, state=State("", 1, 1, 0, 0)))
    made.observe_maintenance(MaintenanceReport("c", "n.t", 1.0))
    return made


def _exposed(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _labels(family: Metric) -> list[str]:
    found = {label: None for sample in family.samples for label in sample.labels if label != "le"}
    return [f"`{label}`" for label in found]


def cli() -> str:
    """Help of every verb, as the program prints it."""
    parts = [_block(_help())]
    for verb, command in _verbs(typer.main.get_command(app)).items():
        parts += [f"## {verb}", _block(_help(verb))]
        for inner in _verbs(command):
            parts += [f"### {verb} {inner}", _block(_help(verb, inner))]
    return page(
        "Command line",
        "`./kafka-connect-iceberg-sink.sh` makes the Python environment where it is missing and then takes the same "
        "verbs; without a verb it is `start`. The program itself is `.venv/bin/frazil`. Exit codes: 0 success, 1 "
        "failure, 2 wrong usage or configuration, 130 ended by Ctrl+C.",
        *parts,
    )


def _verbs(command: object) -> dict[str, object]:
    if not isinstance(command, TyperGroup):
        return {}
    return {name: command.commands[name] for name in command.list_commands(typer.Context(command))}


def _help(*verb: str) -> str:
    answer = CliRunner().invoke(app, [*verb, "--help"], prog_name="frazil", terminal_width=_WIDTH)
    if answer.exit_code != 0:
        raise RuntimeError(f"`frazil {' '.join(verb)} --help` failed: {answer.output}")
    return "\n".join(line.rstrip() for line in answer.output.strip().splitlines())


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def rest() -> str:
    """Routes of the REST API and of the actuator."""
    actuator_routes = _actuator_routes()
    rows = [
        (
            ", ".join(_methods(route)),
            f"`{route.path}`",
            inspect.cleandoc(route.endpoint.__doc__ or "").partition("\n")[0],
        )
        for route in ROUTES
    ]
    return page(
        "HTTP interfaces",
        "Both listen on 127.0.0.1 and ask for no credentials; `listeners` of the worker moves the first one.",
        "## Connect REST API (port 8083)",
        'Paths, shapes and error texts are those of Kafka Connect 4.3.1. Every error has the body `{"error_code": …, '
        '"message": …}`. While the worker starts, every path but `/health` and `/openapi.json` answers 503. '
        "[openapi.json](openapi.json) is what `/openapi.json` serves.",
        table(("Methods", "Path", "What it does"), rows),
        "## Beside it, on the same port",
        table(
            ("Method", "Path", "What it tells"),
            [
                ("GET", "`/ui`", "The console, for a browser."),
                ("GET", "`/metrics`", "All metrics in Prometheus' text format."),
            ],
        ),
        "## Actuator (port 8081)",
        table(
            ("Method", "Path", "What it tells"), [("GET", f"`{r.path}`", _ACTUATOR[r.path]) for r in actuator_routes]
        ),
    )


def _methods(route: Route) -> list[str]:
    return [method.upper() for method, _ in openapi.operations(route)]


def _actuator_routes() -> list[Route]:
    def no_runner(*_: object) -> Runner:
        raise RuntimeError("a documentation run starts no connector")

    with TemporaryDirectory() as folder:
        herder = Herder(FileConfigStore(Path(folder, "connectors.json")), no_runner, "127.0.0.1:8083")
        application = actuator_app(herder, Metrics(dict, dict), {}, Loggers(), {})
        return [route for route in application.routes if isinstance(route, Route)]


def error_tree() -> str:
    """The exception tree, and what a user sees of each error."""
    tree = inspect.cleandoc(errors.__doc__ or "")
    _, _, rest_of = tree.partition("\n\n")
    drawing, _, closing = rest_of.rpartition("\n\n")
    kinds: tuple[tuple[str, Callable[[type[errors.FrazilError]], bool], str], ...] = (
        ("On the command line", lambda kind: issubclass(kind, errors.UsageError | errors.ConfigError), "exit code 2"),
        ("", lambda kind: kind is errors.FrazilError, "exit code 1, as every other one"),
        ("In a connector", lambda kind: kind is errors.TransientError, "RESTARTING: tried again after 1 to 60 s"),
        ("", lambda kind: kind is errors.TerminalError, "FAILED with this error as the trace's first line"),
        ("In the REST API", lambda kind: kind is errors.ConfigError, "400"),
        ("", lambda kind: kind is errors.NotFound, "404"),
        ("", lambda kind: kind is errors.AlreadyExists, "409"),
    )
    known = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FrazilError)]
    rows = [
        (where, ", ".join(f"`{kind.__name__}`" for kind in known if matches(kind)), seen)
        for where, matches, seen in kinds
    ]
    return page(
        "Errors",
        closing,
        _block(drawing),
        table(("Where", "Error", "What is seen"), rows),
    )


def questions() -> str:
    """Every question with its options and columns."""
    parts = []
    for question in EVERY.values():
        parts += [f"## {question.name}", f"**{question.title}** {question.answers}", _question_options(question)]
        parts.append(table(("Column", "Meaning"), [(f"`{name}`", text) for name, text in question.columns.items()]))
    return page(
        "Questions",
        "What `ask` answers, by the name of the question. Each one is also a view of the embedded engine, named in the "
        "last line above its columns: `SELECT * FROM who_deleted`; or it reads a table of `init --with aggregates`, "
        "which is named there. Times are UTC.",
        *parts,
    )


def _question_options(question: Question) -> str:
    options = [f"`--{p.name}`" if p.name != "rows" else f"`-n` ({question.rows})" for p in question.parameters]
    needed = "".join(f" `--{name}` is needed." for name in question.required)
    place = f"Table: `{question.table}`" if question.table else f"View: `{question.view}`"
    return f"Options: {', '.join(options)}.{needed} {place}."


def main() -> None:
    """Write every file."""
    for path, text in pages().items():
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        print(path)


if __name__ == "__main__":
    main()
