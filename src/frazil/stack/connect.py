"""Kafka Connect's own runtime as a service: a distributed worker of one process."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from frazil.environment.private_file import write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.answer import answer
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from frazil.stack.ports import Port
from frazil.stack.service import Progress, Service, embedded
from frazil.stack.truststore import trust_options

SOURCES = "sources"

WorkerProperties = Callable[[Path, Path, Progress], Mapping[str, str]]
"""The worker's keys, asked for at each start with the Java that runs it and the folder of its configuration."""

# Without the values of every client and connector configuration, which hold credentials.
_LOGGING = """<Configuration status="WARN">
  <Appenders>
    <Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="out"/></Root>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Logger name="org.apache.kafka.connect.runtime.ConnectorConfig" level="WARN"/>
    <Logger name="org.apache.iceberg.connect.IcebergSinkConfig" level="WARN"/>
    <Logger name="org.reflections" level="ERROR"/>
  </Loggers>
</Configuration>
"""


JvmOptions = Callable[[Path, Path, Progress], Sequence[str]]
"""Options of the JVM, asked for at each start as the keys are."""


def sources_service(
    settings: Settings, properties: Mapping[str, str], more: JvmOptions = lambda java, conf, progress: ()
) -> Service:
    """The runtime of source connectors on `Settings.source_connect_port`; `properties` are its worker's keys, `more`
    options of its JVM."""
    jvm = (
        "-Xms64M",
        "-Xmx512M",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={settings.logs}/{SOURCES}-jvm-%p.log",
    )
    port = Port(settings.source_connect_port, "SOURCE_CONNECT_PORT")
    return connect_service(
        settings,
        SOURCES,
        port,
        lambda java, conf, progress: [*jvm, *more(java, conf, progress)],
        lambda java, conf, progress: properties,
    )


def connect_service(
    settings: Settings, name: str, port: Port, jvm: JvmOptions, properties: WorkerProperties
) -> Service:
    """A worker of Kafka Connect with these options of the JVM.

    Its keys are written to a file that only its owner can read, since they may hold passwords.
    """
    return embedded(settings)(
        name=name,
        command=lambda progress: _command(settings, settings.home / "conf" / name, jvm, properties, progress),
        ready=lambda: _missing(port.number),
        ports=(port,),
    )


def _command(
    settings: Settings, conf: Path, jvm: JvmOptions, properties: WorkerProperties, progress: Progress
) -> Sequence[str]:
    import javaproperties

    java = find_java(settings.env)
    resolve(CONNECT, java, settings.cache, progress, settings.env)
    conf.mkdir(parents=True, exist_ok=True)
    logging = conf / "log4j2.xml"
    logging.write_text(_LOGGING)
    keys = properties(java, conf, progress)
    return [
        str(java),
        *jvm(java, conf, progress),
        *trust_options(settings.env),
        f"-Dlog4j2.configurationFile={logging}",
        *_token_endpoints(keys),
        *("-cp", f"{CONNECT.folder(settings.cache)}/*"),
        "org.apache.kafka.connect.cli.ConnectDistributed",
        str(write_private(conf / "worker.properties", javaproperties.dumps(dict(keys), timestamp=None))),
    ]


def _token_endpoints(properties: Mapping[str, str]) -> list[str]:
    """Option with the token addresses: from Kafka 4.0 on the JVM asks no others."""
    urls = {text for key, text in properties.items() if key.endswith("sasl.oauthbearer.token.endpoint.url")}
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={','.join(sorted(urls))}"] if urls else []


def _missing(port: int) -> str | None:
    """The list of connectors, which a worker gives once it has joined its group."""
    import httpx

    url = f"http://{LOOPBACK}:{port}/connectors"
    try:
        answered = answer(url)
    except httpx.HTTPError as error:
        return f"{url} does not answer ({type(error).__name__})"
    return None if answered.status_code == httpx.codes.OK else f"{url} answers {answered.status_code}"
