"""The log of Spark's JVM: what is too much to read, and what may never be written."""

from __future__ import annotations

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
