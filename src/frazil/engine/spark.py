"""The Spark session of a worker: the driver in this process, tasks in Python workers beside it."""

import logging
import os
import re
import secrets
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from py4j.protocol import Py4JError
from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from frazil.environment.private_file import private_home
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import StackError
from frazil.stack.class_archive import ClassArchive
from frazil.stack.ivy import PYSPARK_JARS
from frazil.stack.java import find_java, spark_java_home
from frazil.stack.process import utf8_locale
from frazil.stack.truststore import trust_options
from frazil.text.quoting import quoted

logger = logging.getLogger(__name__)

_ON_LOOPBACK = re.compile(r"spark://(?:localhost|127\.0\.0\.1)(?::[0-9]+)?")
_CLASS_PATHS = ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
_COLLECTOR = "-XX:+UseParallelGC"
_JVM_END_S = 15.0
_MEMORY_POOL = "system"
"""Arrow's own pools give pages back and fault them in again for every chunk: a quarter more CPU in the tasks."""

MAINTENANCE_POOL = "maintenance"
"""Jobs of this pool get what the connectors leave; theirs are in Spark's default pool."""

_POOLS = f"""\
<allocations>
  <pool name="default"><schedulingMode>FIFO</schedulingMode><weight>1000</weight><minShare>1000</minShare></pool>
  <pool name="{MAINTENANCE_POOL}"><schedulingMode>FIFO</schedulingMode><weight>1</weight><minShare>0</minShare></pool>
</allocations>
"""

_REDACTED = "(?i)secret|passw|passphrase|token|credential|jaas|authorization|(?:private|api|account|access)[.-]?key"


def start(settings: Settings) -> SparkSession:
    """Start the session. Raises JavaNotFound or StackError."""
    java = find_java(settings.env)
    work = private_home(settings.home) / "worker"
    work.mkdir(parents=True, exist_ok=True)
    log4j = work / "spark-log4j2.properties"
    log4j.write_text(log4j_properties())
    pools = work / "spark-pools.xml"
    pools.write_text(_POOLS)
    os.environ["JAVA_HOME"] = str(spark_java_home(settings.home, java))
    if is_local(settings.spark_master):
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    if options := settings.env.get("JAVA_TOOL_OPTIONS"):
        os.environ["JAVA_TOOL_OPTIONS"] = options
    os.environ.update(utf8_locale(os.environ))
    archive = class_archive(settings, java)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = _MEMORY_POOL
    properties: dict[str, Any] = {
        "spark.app.name": "frazil",
        "spark.master": settings.spark_master,
        **listen_options(settings.spark_master),
        **executor_options(settings.spark_master, log4j),
        "spark.driver.memory": settings.spark_memory,
        "spark.driver.extraJavaOptions": _jvm_options(
            log4j, [*trust_options(settings.env), *(archive.options() if archive else [])]
        ),
        "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": _MEMORY_POOL,
        "spark.python.daemon.module": "frazil.engine.daemon",
        "spark.local.dir": str(work / "tmp"),
        "spark.broadcast.UDFCompressionThreshold": "512m",  # larger tasks go through files, and they hold credentials
        "spark.executor.killOnFatalError.depth": "0",  # a record whose match is too deep would end all connectors
        **_pages(settings.spark_ui_port),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(work / "tmp" / "warehouse"),  # else a folder where the worker was started
        "spark.redaction.regex": _REDACTED,
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": f"file://{pools}",  # Hadoop decodes no %20
    }
    _launch_jvm(properties)
    try:
        with _interrupts_as_before():
            # The JVM gets it over py4j, whose port has a token: its command line is for everybody to read.
            builder = SparkSession.builder.config(map=properties | _authentication(settings.spark_master))
            session: SparkSession = builder.getOrCreate()
        session.sparkContext.setLogLevel("WARN")
    except (Py4JError, PySparkException) as error:
        cause = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise StackError(
            f"Spark at SPARK_MASTER={settings.spark_master} did not start: {cause}. No connector was started. Look "
            "whether the master runs and takes this application; the log above says what it answered."
        ) from error
    if session.sparkContext.getConf().get("spark.authenticate", "false") != "true":
        logger.warning(
            "Spark at SPARK_MASTER=%s asks nobody for a secret: whoever reaches its ports can run programs and read "
            "what the tasks are given, credentials too; set spark.authenticate and spark.authenticate.secret",
            settings.spark_master,
        )
    return session


def _pages(port: int | None) -> dict[str, str]:
    """Options of Spark's own pages, which nobody can end a job on; without them next to nothing is kept for them."""
    kept = ("spark.sql.ui.retainedExecutions", "spark.ui.retainedJobs", "spark.ui.retainedStages")
    if port is None:
        return {"spark.ui.enabled": "false", **dict.fromkeys(kept, "1")}
    own = {"spark.ui.enabled": "true", "spark.ui.port": str(port), "spark.ui.killEnabled": "false"}
    return {**own, "spark.port.maxRetries": "0", **dict.fromkeys(kept, "200")}


def _authentication(master: str) -> dict[str, str]:
    """Keys that let nobody but this session's own parts speak with the driver; a standalone cluster has a secret of its
    own, and on Kubernetes Spark makes one."""
    if master.startswith("k8s://"):
        return {"spark.authenticate": "true"}
    if not _of_this_process(master):
        return {}
    return {"spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(32)}


def _launch_jvm(properties: Mapping[str, Any]) -> None:
    """Start the JVM as PySpark does, but in a process group of its own.

    A signal for the group of this process, such as that of `kill %1` or of a terminal that closes, is for this process,
    which stops its connectors before the JVM.
    """
    if SparkContext._gateway is None:  # noqa: SLF001 - PySpark's own launch is without the argument
        conf = SparkConf(loadDefaults=False).setAll(list(properties.items()))
        gateway = launch_gateway(conf, {"process_group": 0})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """Keep this process's own handler of Ctrl+C: PySpark's cancels the jobs that run."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def is_local(master: str) -> bool:
    """Whether the tasks run on this machine, so that nobody else has to reach the driver.

    A standalone master on loopback has its Spark workers here too.
    """
    return _of_this_process(master) or _ON_LOOPBACK.fullmatch(master) is not None


def _of_this_process(master: str) -> bool:
    return master.startswith("local")


def listen_options(master: str) -> dict[str, str]:
    """Loopback for a local master; for a cluster Spark's defaults, which `SPARK_LOCAL_IP` changes."""
    return {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK} if is_local(master) else {}


def executor_options(master: str, log4j: Path) -> dict[str, str]:
    """Options of the executors' JVMs on a cluster: the driver's collector and compiler; the user's come behind them.

    On this machine also its log, in which secrets are hidden; elsewhere the file `log4j` is not there.
    """
    if _of_this_process(master):
        return {}
    log = [f"-Dlog4j2.configurationFile={log4j.as_uri()}"] if is_local(master) else []
    return {"spark.executor.defaultJavaOptions": " ".join([*_few_cores(), *log])}


def class_archive(settings: Settings, java: Path) -> ClassArchive | None:
    """Class archive of Spark's JVM; None when its class path was changed: no archive is written of a folder on it.

    Reads the variables that Spark's scripts read from the environment of this process.
    """
    if any(os.environ.get(name) for name in _CLASS_PATHS):
        return None
    options = [settings.spark_memory, _COLLECTOR]
    return ClassArchive("spark", java, sorted(PYSPARK_JARS.glob("*.jar")), options, settings.cache, os.environ)


def _jvm_options(log4j: Path, more: Iterable[str]) -> str:
    """Options of the driver's JVM, with a deep stack for Spark's own matching of interrupted queries."""
    log = f"-Dlog4j2.configurationFile={log4j.as_uri()}"
    return " ".join(["-Xss16m", *_few_cores(), log, *map(quoted, more)])


def _few_cores() -> list[str]:
    """A collector and a compiler that suit few cores.

    Code has to be five times as hot as usual before C2 compiles it: that halves what a start costs, and the few loops
    that a record goes through are compiled all the same.
    """
    hot = {"InvocationThreshold": 25_000, "MinInvocationThreshold": 3_000, "CompileThreshold": 75_000}
    compiler = [f"-XX:Tier4{name}={value}" for name, value in (hot | {"BackEdgeThreshold": 200_000}).items()]
    return [_COLLECTOR, "-XX:ReservedCodeCacheSize=128m", *compiler]


def stop(session: SparkSession) -> None:
    """Stop the session, and wait for its JVM to end, 15 s at most: it may write its class archive then.

    A JVM that needs longer is left to whoever waits for the end of this process and its children.
    """
    process = _jvm(session)
    if process is not None and process.poll() is not None:
        return
    session.stop()
    if process is not None and process.stdin is not None:
        process.stdin.close()  # PySpark's JVM ends with it
        with suppress(TimeoutExpired):
            process.wait(_JVM_END_S)


def set_log_level(session: SparkSession, name: str, level: str) -> None:
    """Set a logger of the JVM and those below it; `root` is all of them, `level` one of Log4j's."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark's own only sets the root
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setAllLevels("" if name == "root" else name, log4j.Level.getLevel(level))


def ended(session: SparkSession) -> bool:
    """Whether the session's JVM is gone, or its application was ended by the cluster."""
    process = _jvm(session)
    if process is not None and process.poll() is not None:
        return True
    context: Any = session.sparkContext._jsc  # noqa: SLF001 - no other way
    try:
        return context is None or bool(context.sc().isStopped())
    except (Py4JError, OSError):  # it ends just now
        return process is None or process.poll() is not None


def _jvm(session: SparkSession) -> Popen[bytes] | None:
    """The JVM's process; None when it is not a child of this one."""
    process: Popen[bytes] | None = getattr(session.sparkContext._gateway, "proc", None)  # noqa: SLF001 - no other way
    return process


_KEY = r"(?:secret|passw|passphrase|token|credential|jaas.config|authorization|(?:private|api|account).?key)"
_VALUE = (
    r"""(?:[\w.]+Module(?:[^;"']++|"(?:[^"\\]|\\.)*+"?|')*+;?|"(?:[^"\\]|\\.)*+"?|(?:(?:Basic|Bearer) )?[^,)\s]++)"""
)
SECRET = rf"""(?i)({_KEY}[\w.-]*(?: -> |=|: ?)){_VALUE}"""
"""A key and its secret in the text of options and plans: a JAAS line, quoted text, or a word."""

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.alwaysWriteExceptions = false
appender.stderr.layout.pattern = \
    %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}{UTC} %p %c{1}: %replace{%m%n%ex}{<secret>}{$1[hidden]}
logger.conf.name = org.apache.spark.SparkConf
logger.conf.level = error
# Both warn of jobs that are cancelled, which is what was wanted.
logger.shell.name = org.apache.hadoop.util.Shell
logger.shell.level = error
logger.jobs.name = org.apache.spark.scheduler.DAGScheduler
logger.jobs.level = error
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
# What ends the stream of a statement is the connector's failure, or it is tried again.
logger.stream.name = org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
logger.stream.level = off
# What fails in a task is the connector's failure or a dead letter, told in one line; traces come with level debug.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasksets.name = org.apache.spark.scheduler.TaskSetManager
logger.tasksets.level = off
# A commit that lost against another and is tried again; the last one that is lost is an error of its own.
logger.tasks.name = org.apache.iceberg.util.Tasks
logger.tasks.level = error
"""
_HTTP = (
    "org.apache.hc",
    "org.apache.http",
    "org.apache.iceberg.shaded.org.apache.hc",
    "org.apache.hadoop.shaded.org.apache.http",
    "software.amazon.awssdk",
)
"""Loggers that print requests and answers below INFO, access keys too: those lines never come, whatever is set."""


def log4j_properties() -> str:
    """The configuration of Log4j: lines on stderr, in which secrets are hidden whatever levels are set."""
    pattern = SECRET.replace("\\", "\\\\")
    return _LOG4J.replace("<secret>", pattern) + "".join(map(_at_least_info, range(len(_HTTP)), _HTTP))


def _at_least_info(number: int, name: str) -> str:
    """A logger with a filter of its own, which a change of levels does not reach."""
    prefix = f"logger.http{number}"
    return (
        f"{prefix}.name = {name}\n{prefix}.level = warn\n"
        f"{prefix}.filter.least.type = ThresholdFilter\n{prefix}.filter.least.level = info\n"
    )
