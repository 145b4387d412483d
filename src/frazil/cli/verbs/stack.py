"""Verbs for the services of the embedded stack: start, stop, restart, logs, clean."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.connect import lifecycle
from frazil.cli.connect.session import ContextOption, RegexOption, complete_connectors
from frazil.cli.ui.console import YesOption, consent, make_console
from frazil.cli.ui.program import PROGRAM, verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import UsageError
from frazil.sql.value_text import printable_lines

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.stack.service import Progress, Service

_STORE = "seaweedfs"
_ALIASES = {"minio": _STORE, "kafka-connect": "worker"}
# Why a service is not ours to start: the variable that says where somebody else's is.
_ADDRESSES = {
    "kafka": "KAFKA_BOOTSTRAP_SERVERS",
    _STORE: "MINIO_ENDPOINT",
    "worker": "KAFKA_CONNECT_URL",
    "trino": "TRINO_URL",
    "registry": "SCHEMA_REGISTRY_URL",
    "postgres": "AWS_RDS_ENDPOINT",
}
ON_REQUEST = ("trino", "registry", "postgres")
_OF_THE_WORKER = "sources"
_SOMETIMES = (*ON_REQUEST, _OF_THE_WORKER)

_SERVICES = "kafka, seaweedfs, worker, trino, registry or postgres; all when left out"
ServiceArgument = Annotated[str | None, typer.Argument(help=f"{_SERVICES}.")]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(help="Connectors, after `connector`.", autocompletion=complete_connectors)
]


def worker_service(settings: Settings) -> Service:
    """The frazil worker in the background; it reads the same settings as this process."""
    from frazil.stack.ports import Port
    from frazil.stack.service import Service

    return Service(
        name="worker",
        home=settings.home,
        command=lambda progress: _worker_command(settings, progress),
        ready=lambda: _worker_missing(settings),
        ports=(Port(settings.connect_port, "KAFKA_CONNECT_PORT"), Port(settings.actuator_port, "ACTUATOR_PORT")),
        env={**settings.env, "FRAZIL_HOME": str(settings.home), "PYTHONUNBUFFERED": "1"},
        start_timeout=settings.start_timeout,
    )


def _worker_command(settings: Settings, progress: Progress) -> Sequence[str]:
    from frazil.environment.spark_options import check_spark

    check_spark(settings)
    return [sys.executable, "-m", "frazil.cli.main", "worker"]


def services(settings: Settings) -> list[Service]:
    """Every service that this home runs unless told otherwise, in the order of their start."""
    from frazil.stack.local import LocalStack

    worker = [] if settings.connect_external else [worker_service(settings)]
    return [*LocalStack(settings).services(), *worker]


def _on_request(settings: Settings) -> list[Service]:
    from frazil.stack.postgres import postgres_service
    from frazil.stack.registry import registry_service
    from frazil.stack.trino import trino_service

    return [trino_service(settings), registry_service(settings), postgres_service(settings)]


def with_postgres(settings: Settings) -> list[Service]:
    """PostgreSQL, unless one of the user's is to be captured."""
    return [service for service in _not_external(settings, _on_request(settings)) if service.name == "postgres"]


def requested(settings: Settings) -> list[Service]:
    """Services that run on request only and were requested: those that run, or have ended by themselves."""
    from frazil.stack.service import Status

    return [service for service in _on_request(settings) if service.state().status is not Status.STOPPED]


def _not_external(settings: Settings, chosen: list[Service]) -> list[Service]:
    external = {
        "trino": settings.trino_external,
        "registry": settings.registry_external,
        "postgres": settings.postgres_external,
    }
    return [service for service in chosen if not external[service.name]]


def _startable(settings: Settings) -> list[Service]:
    return [*services(settings), *_not_external(settings, _on_request(settings))]


def _of_home(settings: Settings) -> list[Service]:
    """Every service that may run in this home, also those that are external by now.

    The runtime of source connectors is the worker's to start and stop, but it outlives one that is killed.
    """
    from frazil.stack.connect import sources_service
    from frazil.stack.local import LocalStack

    own = [worker_service(settings), *_on_request(settings), sources_service(settings, {})]
    return [*LocalStack(settings).embedded(), *own]


def services_in_use(settings: Settings) -> list[Service]:
    """Services of this home, and of those that nobody has to start the ones that were."""
    from frazil.stack.service import Status

    found = _of_home(settings)
    states = {one.name: one.state().status for one in found}
    absent = {name for name in _SOMETIMES if states[name] is Status.STOPPED}
    if states["worker"] not in (Status.STOPPED, Status.DIED):
        absent.add(_OF_THE_WORKER)  # it stops with its worker
    return [one for one in found if one.name not in absent]


def start_services(chosen: Iterable[Service], console: Console) -> None:
    """Start services, with a line for each; what runs already is left alone.

    Raises ConfigError or PortTaken before anything is started, or StackError; what is ready by then goes on running,
    also after Ctrl+C.
    """
    from rich.text import Text

    from frazil.stack.ports import require_different, require_free
    from frazil.stack.service import Status, start_all

    wanted = list(chosen)
    require_different(port for service in wanted for port in service.ports)
    require_free((each.name, each.ports) for each in wanted if each.state().status is Status.STOPPED)
    ready: list[str] = []

    def report(service: Service, started: bool, seconds: float) -> None:
        ready.append(service.name)
        ports = ", ".join(f"{LOOPBACK}:{port.number}" for port in service.ports)
        took = f"ready in {seconds:.1f} s" if started else "runs already"
        console.print(Text.assemble(("✓ ", "green"), f"{service.name:<10} {took:<16} {ports}"))

    try:
        with progress(console) as show:
            start_all(wanted, show, report)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            console.print("Interrupted.")
        if ready:
            on, them = ("goes on", "it") if len(ready) == 1 else ("go on", "them")
            rest = f"Repeat the command for the rest, or stop {them} with `{PROGRAM} stop`."
            console.print(f"{_listed(ready)} {on} running. {rest}", soft_wrap=True)
        raise


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def stop_services(chosen: Iterable[Service], console: Console) -> None:
    """Stop services in reverse order, with a line for each."""
    with progress(console) as show:
        for service in reversed(list(chosen)):
            show(f"stopping {service.name}")
            done = "stopped" if service.stop() else "did not run"
            console.print(f"  {service.name:<10} {done}")


@verb("start", "start kafka", "start --with trino", "start registry  # on its own", "start --dual")
def start(
    service: ServiceArgument = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", help="Also start a service that runs on request only: trino, registry, postgres."),
    ] = None,
    dual: Annotated[
        bool, typer.Option("--dual", help="Two stores, of a source and a destination, each behind nginx.")
    ] = False,
) -> None:
    """Start the services (or one) and wait until they answer.

    What runs already is left alone. When one cannot start, those that are ready go on running.
    Trino, the schema registry and PostgreSQL run on request only: `start trino` or `start --with trino`. The first
    start of Trino downloads 540 MB, that of the registry 160 MB.
    With --dual the home has two stores until `clean`: source on port 9000, destination with the catalog on 9010, each
    four gateways behind nginx.
    """
    settings = Settings.load()
    if dual:
        from frazil.stack.dual import make_dual

        settings = make_dual(settings)
    for remark in settings.remarks:
        make_console(stderr=True).print(remark, soft_wrap=True)
    chosen = _chosen(service, services(settings), _startable(settings))
    for name in with_ or ():
        if name not in ON_REQUEST:
            raise UsageError(
                f"--with {name}: only {' and '.join(ON_REQUEST)} are started on request; the others are by themselves"
            )
        names = {one.name for one in chosen}
        chosen += [extra for extra in _chosen(name, [], _startable(settings)) if extra.name not in names]
    start_services(chosen, make_console())


@verb("stop", "stop worker  # Kafka and the store go on", "stop connector iceberg-sink-apilogs")
def stop(
    what: Annotated[str | None, typer.Argument(help=f"{_SERVICES}; or `connector`, with names.")] = None,
    names: NamesArgument = None,
    regex: RegexOption = False,
    context: ContextOption = None,
) -> None:
    """Stop the services (or one), or connectors by name.

    Data stays. A stopped connector gives up its tasks; `resume connector` lets it read again.
    """
    if what in lifecycle.CONNECTOR:
        lifecycle.stop_connectors(_named(what, names), regex, context)
        return
    _of_connectors_only(names, regex, context)
    settings = Settings.load()
    stop_services(_chosen(what, services_in_use(settings), _of_home(settings)), make_console())


@verb(
    "restart",
    "restart worker",
    "restart connector iceberg-sink-apilogs",
    "restart connector '.*' -e --only-failed",
    "restart task iceberg-sink-apilogs/0",
)
def restart(
    what: Annotated[
        str | None, typer.Argument(help=f"{_SERVICES}; or `connector` with names, or `task` with NAME/NUMBER.")
    ] = None,
    names: NamesArgument = None,
    regex: RegexOption = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Connectors: only what has failed.")] = False,
    context: ContextOption = None,
) -> None:
    """Restart the services (or one), or connectors by name with their tasks.

    Those that run on request only too, when they were started.
    """
    if what in lifecycle.CONNECTOR:
        lifecycle.restart_connectors(_named(what, names), regex, context, only_failed=only_failed)
        return
    if what in lifecycle.TASK:
        _of_connectors_only(None, regex or only_failed, None)
        lifecycle.restart_tasks(_named(what, names), context)
        return
    _of_connectors_only(names, regex or only_failed, context)
    settings = Settings.load()
    extra = _not_external(settings, requested(settings))
    chosen = _chosen(what, [*services(settings), *extra], _startable(settings))
    stop_services(chosen, make_console())
    start_services(chosen, make_console())


def _named(what: str | None, names: list[str] | None) -> list[str]:
    if not names:
        raise UsageError(f"name the {what} that is meant, as in `{what} iceberg-sink-apilogs`. Nothing was done.")
    return names


def _of_connectors_only(names: list[str] | None, option: bool, context: str | None) -> None:
    """A service takes neither names nor options of connectors."""
    if names:
        raise UsageError(
            f"{' '.join(names)}: one service at a time; names are for connectors: `connector NAME`. Nothing was done."
        )
    if option or context is not None:
        raise UsageError("--regex, --include-tasks, --only-failed and --context are for connectors. Nothing was done.")


@verb("logs", "logs -f  # until Ctrl+C", "logs worker -n 200")
def logs(
    service: ServiceArgument = None,
    follow_: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is appended.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Lines of each log to begin with.")] = 50,
) -> None:
    """Show the end of the services' logs."""
    from frazil.stack.logfile import follow, tail

    every = _of_home(Settings.load())
    chosen = _chosen(service, [one for one in every if one.name not in _SOMETIMES or one.log.exists()], every)
    paths = {one.name: one.log for one in chosen}
    prefix = {name: "" if len(paths) == 1 else f"{name:<10}| " for name in paths}
    positions = {}
    for name, path in paths.items():
        last, positions[name] = tail(path, lines)
        for line in last:
            print(f"{prefix[name]}{printable_lines(line)}")
        if not path.exists() and not follow_:
            print(f"{name} has no log yet ({path})", file=sys.stderr)
    if follow_:
        with suppress(KeyboardInterrupt):  # the way to end it
            for name, line in follow(paths, positions):
                print(f"{prefix[name]}{printable_lines(line)}", flush=True)


@verb("clean", "clean --yes  # without asking")
def clean(yes: YesOption = False) -> None:
    """Stop all and remove topics, tables, logs and connectors.

    The shell's history goes too. It asks first. What is removed lies in FRAZIL_HOME and cannot be brought back;
    downloads are kept.
    """
    from frazil.stack.local import LocalStack

    settings = Settings.load()
    console = make_console()
    if not settings.home.exists():
        console.print(f"{settings.home} does not exist: nothing to clean.")
        return
    question = f"Remove topics, tables, logs and connectors in {settings.home}? They cannot be brought back."
    consent(yes, question, "nothing was removed")
    stop_services(services_in_use(settings), console)
    LocalStack(settings).clean()
    console.print(f"Removed the data in {settings.home}.")


def _chosen(name: str | None, by_default: list[Service], possible: list[Service]) -> list[Service]:
    from frazil.stack.dual import NAMES

    if name is None:
        return by_default
    real = _ALIASES.get(name, name)
    meant = {real, *NAMES} if real == _STORE else {real}
    if found := [service for service in possible if service.name in meant]:
        return found
    if real in _ADDRESSES:
        raise UsageError(f"{real} is not run here: {_ADDRESSES[real]} names another one. Unset it to use the embedded.")
    known = dict.fromkeys([*_ADDRESSES, *(service.name for service in possible), *_ALIASES])
    raise UsageError(f"unknown service {name}; known: {', '.join(known)}")


def _worker_missing(settings: Settings) -> str | None:
    """Reason why the worker does not answer. Nothing secret is sent, so its certificate need not be trusted here."""
    import ssl

    import httpx

    from frazil.stack.service import ANSWER_S

    access, url = settings.connect_access, f"{settings.listeners[0].url}/health"
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    try:
        if access.cert_file:
            tls.load_cert_chain(access.cert_file, access.key_file)
        status = httpx.get(url, timeout=ANSWER_S, trust_env=False, verify=tls).status_code
    except (httpx.HTTPError, OSError) as error:
        return f"{url} does not answer ({error})"
    return None if status == httpx.codes.OK else f"{url} answers {status}"
