"""Questions about trouble: what is slow, what fails."""

from frazil.minio.questions.question import Question

SLOWEST = Question(
    name="slowest",
    title="Which calls took longest?",
    answers="Single calls, the slowest first. Durations are numbers in milliseconds, made from the text that servers "
    "write, such as `1m2.5s`.",
    columns={
        "time": "when",
        "api": "API that was called",
        "bucket": "bucket",
        "object": "key of the object",
        "status": "HTTP status",
        "duration_ms": "whole request, or time to the response where a server logs no more, in ms",
        "first_byte_ms": "time to the first byte, in ms",
        "read_ms": "reading the request, in ms",
        "write_ms": "writing the response, in ms",
        "read_blocked_ms": "waiting for the client's bytes, in ms",
        "write_blocked_ms": "waiting for the client to take bytes, in ms",
        "bytes_in": "bytes received",
        "bytes_out": "bytes sent",
        "who": "user behind the access key",
        "source_host": "address that the server saw",
        "node": "server",
        "request_id": "id of the request",
    },
    sql="""
SELECT
    time, api, bucket, object, status, duration_ms, first_byte_ms, read_ms, write_ms, read_blocked_ms, write_blocked_ms,
    bytes_in, bytes_out, who, source_host, node, request_id
FROM api_calls
WHERE duration_ms IS NOT NULL
    AND object = :object
    AND (who = :user OR access_key = :user OR identity = :user)
ORDER BY duration_ms DESC, time DESC
LIMIT :rows
""",
)

ERRORS = Question(
    name="errors",
    title="Which calls fail, and on which node?",
    answers="Calls with HTTP status 400 or more by API, node and status. Clients also ask for what may not be there: a "
    "404 of HeadObject is often no fault.",
    columns={
        "api": "API that was called",
        "node": "server",
        "status": "HTTP status",
        "failed": "calls that ended so",
        "percent": "share of all calls of this API on this node",
        "users": "different users",
        "buckets": "different buckets",
        "last_time": "newest one",
        "last_request": "id of the newest request",
        "reason": "what the newest record with a reason says",
    },
    sql="""
WITH calls_made AS (
    SELECT api, node, count(*) AS calls
    FROM api_calls
    WHERE (who = :user OR access_key = :user OR identity = :user)
    GROUP BY api, node
),
failures AS (
    SELECT
        api, node, status,
        count(*) AS failed,
        count(DISTINCT who) AS users,
        count(DISTINCT bucket) AS buckets,
        max(time) AS last_time,
        NEWEST(request_id) AS last_request,
        NEWEST(error) AS reason
    FROM api_calls
    WHERE status >= 400 AND (who = :user OR access_key = :user OR identity = :user)
    GROUP BY api, node, status
)
SELECT
    f.api, f.node, f.status, f.failed,
    round(100E0 * f.failed / c.calls, 2) AS percent,
    f.users, f.buckets, f.last_time, f.last_request, f.reason
FROM failures AS f
JOIN calls_made AS c ON c.api = f.api AND c.node IS NOT DISTINCT FROM f.node
ORDER BY f.failed DESC, f.api, f.node, f.status
LIMIT :rows
""",
)

SERVER_ERRORS = Question(
    name="server-errors",
    title="What do the servers complain about?",
    answers="The error log, with messages taken together that differ only in numbers and request ids, or in having "
    "one.",
    columns={
        "node": "server",
        "api": "API or part of the server; null when the record has none",
        "message": "newest message of its kind",
        "level": "level of a community server's record",
        "times": "records",
        "first_time": "first one",
        "last_time": "newest one",
        "source": "place in the server's code of the newest one",
    },
    sql=r"""
WITH complaints AS (
    SELECT
        time, node, message,
        nullif("apiName", '') AS api,
        element_at(tags, 'level') AS level,
        element_at("trace"."source", 1) AS source,
        regexp_replace(
            regexp_replace(message, ' *\(?[0-9A-F]{16}\)?', ''), '[0-9A-Fa-f]*[0-9][0-9A-Fa-f-]*', '#'
        ) AS pattern
    FROM errorlogs
    WHERE time >= :since AND time < :until
        AND (element_at(tags, 'bucket') = :bucket OR element_at("trace"."variables", 'bucket') = :bucket)
)
SELECT
    node, api,
    NEWEST(message) AS message,
    level,
    count(*) AS times,
    min(time) AS first_time,
    max(time) AS last_time,
    NEWEST(source) AS source
FROM complaints
GROUP BY node, api, level, pattern
ORDER BY times DESC, last_time DESC
LIMIT :rows
""",
)

QUESTIONS = (SLOWEST, ERRORS, SERVER_ERRORS)
