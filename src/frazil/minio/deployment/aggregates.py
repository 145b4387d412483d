"""Configurations of connectors that aggregate API calls while they come: `init --with aggregates`."""

from frazil.environment.settings import Settings
from frazil.minio.deployment.connectors import log_config
from frazil.minio.questions.calls import IDENTITY_CLAIMS

_COLUMNS = (
    "time TIMESTAMP NOT NULL, origin STRING, type STRING, name STRING, bucket STRING, callInfo STRUCT<httpStatusCode: "
    "INT, rx: BIGINT, tx: BIGINT, requestTime: STRING, timeToResponse: STRING, sourceHost: STRING>"
)
_UNITS = {
    "([0-9.]+)h": "* 3600000",
    "([0-9.]+)m([0-9]|$)": "* 60000",
    "([0-9.]+)s$": "* 1000",
    "([0-9.]+)ms": "",
    "([0-9.]+)[uµμ]s": "/ 1000",
    "([0-9.]+)ns": "/ 1000000",
}
_MILLISECONDS = " + ".join(
    f"coalesce(TRY_CAST(regexp_extract(duration, '{pattern}', 1) AS DOUBLE), 0D) {factor}"
    for pattern, factor in _UNITS.items()
)
"""Milliseconds of a Go duration such as `1m2.5s` or `207.1µs`; `µ` is two different characters."""

_REQUESTS = """
SELECT window.start AS minute, bucket, count(*) AS calls, count_if(callInfo.httpStatusCode >= 400) AS errors,
    100D * count_if(callInfo.httpStatusCode >= 400) / count(*) AS error_percent,
    coalesce(sum(callInfo.rx), 0) AS bytes_in, coalesce(sum(callInfo.tx), 0) AS bytes_out
FROM `{topic}`
WHERE name IS NOT NULL AND coalesce(origin, 'client') = 'client'
GROUP BY window(time, '1 minute'), bucket
"""
_LATENCIES = """
CREATE TEMPORARY VIEW durations AS
SELECT time, name, coalesce(callInfo.requestTime, callInfo.timeToResponse) AS duration
FROM `{topic}`
WHERE name IS NOT NULL AND coalesce(origin, 'client') = 'client';
CREATE TEMPORARY VIEW calls AS
SELECT time, name, {milliseconds} AS ms FROM durations WHERE duration IS NOT NULL;
SELECT window.start AS since, name AS api, count(*) AS calls, percentile_approx(ms, 0.5) AS p50_ms,
    percentile_approx(ms, 0.95) AS p95_ms, percentile_approx(ms, 0.99) AS p99_ms, max(ms) AS most_ms
FROM calls
GROUP BY window(time, '5 minutes'), name
"""
_FAILED_LOGINS = """
CREATE TEMPORARY VIEW calls AS
SELECT time, callInfo.sourceHost AS source_host,
    (type = 'auth' OR lower(name) LIKE 'sts.assumerole%') AND callInfo.httpStatusCode >= 400 AS failed
FROM `{topic}`;
SELECT window.start AS since, source_host, count_if(failed) AS failed, max(CASE WHEN failed THEN time END) AS newest
FROM calls
GROUP BY window(time, '10 minutes'), source_host
HAVING count_if(failed) > 0
"""
# A condition in WHERE would let no time pass but that of failed logins.
_OF_SESSIONS = (
    "time TIMESTAMP NOT NULL, name STRING, bucket STRING, callInfo STRUCT<httpStatusCode: INT, sourceHost: STRING, "
    "accessKey: STRING, parentUser: STRING, requestClaims: MAP<STRING, STRING>>"
)
_SESSION_CALLS = """
CREATE TEMPORARY VIEW every AS
SELECT time, bucket, callInfo.httpStatusCode AS status, callInfo.sourceHost AS source_host,
    regexp_replace(name, '^s3[.]', '') AS api, regexp_replace(name, '^sts[.]', '') AS assumed_by,
    CASE WHEN time IS NOT NULL THEN nullif(callInfo.accessKey, '') END AS access_key,
    CASE WHEN time IS NOT NULL AND lower(name) LIKE 'sts.assumerole%' AND callInfo.httpStatusCode < 300
        THEN callInfo.requestClaims['accessKey'] END AS session_key,
    coalesce(nullif(callInfo.parentUser, ''), nullif(callInfo.accessKey, ''), callInfo.requestClaims['parent'],
        {identity}) AS who,
    {identity} AS identity
FROM `{topic}`;
CREATE TEMPORARY VIEW sessions AS SELECT * FROM every WHERE session_key IS NOT NULL;
CREATE TEMPORARY VIEW calls AS
SELECT time, access_key, api, bucket, status, source_host FROM every WHERE access_key IS NOT NULL;
SELECT c.time, session_key, s.who, s.identity, s.assumed_by, s.time AS assumed_at, s.source_host AS assumed_from, c.api,
    c.bucket, c.status, c.source_host
FROM calls c JOIN sessions s ON c.access_key = s.session_key AND c.time BETWEEN s.time AND s.time + INTERVAL 7 DAYS
"""
# Spark moves conditions before the watermark that do not name its column: then no time would pass but that of sessions.
AGGREGATES = {
    "requests_per_minute": (_COLUMNS, _REQUESTS),
    "latencies_per_5_minutes": (_COLUMNS, _LATENCIES),
    "failed_logins_per_10_minutes": (_COLUMNS, _FAILED_LOGINS),
    "session_calls": (_OF_SESSIONS, _SESSION_CALLS),
}
"""Columns and statements by the tables of their rows."""


def aggregates(settings: Settings) -> dict[str, dict[str, str]]:
    """Connector configuration by connector name: one for each table of AGGREGATES, which it creates.

    A call counts in the window of its `time`, whose rows are stored a minute after its end. A record that is no call
    is a dead letter of the connector of the log records, and in a topic of its own one of these.
    """
    topic = settings.topics["api"]
    parts = {
        "topic": topic,
        "milliseconds": _MILLISECONDS,
        "identity": "coalesce(" + ", ".join(f"callInfo.requestClaims['{name}']" for name in IDENTITY_CLAIMS) + ")",
    }
    return {
        f"iceberg-sink-{table.replace('_', '-')}": {
            **log_config(settings, topic, table),
            "connector.class": "frazil.SqlConnector",
            "tasks.max": "1",
            "frazil.sql": " ".join(statement.format(**parts).split()),
            "frazil.sql.schema": columns,
            "frazil.watermark": "time 1 minute",
            "iceberg.tables.auto-create-enabled": "true",
            "errors.deadletterqueue.topic.name": f"{topic}-aggregates-dlq",
        }
        for table, (columns, statement) in AGGREGATES.items()
    }
