"""Questions to the tables that the connectors of `init --with aggregates` fill while calls come."""

from frazil.minio.questions.question import Question

RATES = Question(
    name="rates",
    title="How many calls, errors and bytes were there in each minute?",
    answers="Calls of clients per bucket and minute, as they were counted while they came; the newest first.",
    columns={
        "minute": "begin of the minute, UTC",
        "bucket": "bucket; null for calls that belong to none",
        "calls": "all calls",
        "errors": "calls with HTTP status 400 or more",
        "error_percent": "share of these",
        "bytes_in": "bytes received",
        "bytes_out": "bytes sent",
    },
    sql="""
SELECT minute, bucket, calls, errors, error_percent, bytes_in, bytes_out
FROM requests_per_minute
WHERE minute >= :since AND minute < :until AND bucket = :bucket
ORDER BY minute DESC, calls DESC, bucket
LIMIT :rows
""",
    rows=100,
    table="requests_per_minute",
)

LATENCIES = Question(
    name="latencies",
    title="How long do the calls of each API take?",
    answers="The worst five minutes of each API. Percentiles are close ones, computed while calls came.",
    columns={
        "api": "API that was called",
        "since": "begin of the five minutes whose p99 is the greatest, UTC",
        "p50_ms": "half of the calls took no longer, in these five minutes, in ms",
        "p95_ms": "95 of 100 calls took no longer, in ms",
        "p99_ms": "99 of 100 calls took no longer, in ms",
        "most_ms": "the longest call, in ms",
        "calls": "calls with a duration, in all of the time",
    },
    sql="""
SELECT
    api,
    max_by(since, p99_ms) AS since,
    max_by(p50_ms, p99_ms) AS p50_ms,
    max_by(p95_ms, p99_ms) AS p95_ms,
    max(p99_ms) AS p99_ms,
    max_by(most_ms, p99_ms) AS most_ms,
    sum(calls) AS calls
FROM latencies_per_5_minutes
WHERE since >= :since AND since < :until
GROUP BY api
ORDER BY p99_ms DESC, api
LIMIT :rows
""",
    table="latencies_per_5_minutes",
)

FAILED_LOGINS = Question(
    name="failed-logins",
    title="From where do sign-ins fail?",
    answers="Sign-ins that failed, per address and ten minutes; the most first.",
    columns={
        "since": "begin of the ten minutes, UTC",
        "source_host": "address that the server saw",
        "failed": "sign-ins that failed",
        "newest": "the newest of them",
    },
    sql="""
SELECT since, source_host, failed, newest
FROM failed_logins_per_10_minutes
WHERE since >= :since AND since < :until
ORDER BY failed DESC, since DESC, source_host
LIMIT :rows
""",
    table="failed_logins_per_10_minutes",
)

SESSION_CALLS = Question(
    name="session-calls",
    title="What was done with sessions, and who assumed them?",
    answers="Sessions whose keys were used, with the call that made each up to 7 days before; the newest call first.",
    columns={
        "session_key": "access key of the session",
        "who": "user who made it",
        "identity": "name in the token",
        "assumed_by": "STS API that made it",
        "assumed_from": "address that it was made from",
        "assumed_at": "when it was made",
        "calls": "calls with its key",
        "denied": "of these, refused with 401 or 403",
        "buckets": "different buckets",
        "hosts": "different addresses that used it",
        "last_call": "last call with its key",
    },
    sql="""
SELECT
    session_key, who, identity, assumed_by, assumed_from, assumed_at,
    count(*) AS calls,
    count_if(status IN (401, 403)) AS denied,
    count(DISTINCT bucket) AS buckets,
    count(DISTINCT source_host) AS hosts,
    max(time) AS last_call
FROM session_calls
WHERE time >= :since AND time < :until AND bucket = :bucket
    AND (who = :user OR session_key = :user OR identity = :user)
GROUP BY session_key, who, identity, assumed_by, assumed_from, assumed_at
ORDER BY last_call DESC, session_key
LIMIT :rows
""",
    rows=100,
    table="session_calls",
)

AGGREGATED = {question.name: question for question in (RATES, LATENCIES, FAILED_LOGINS, SESSION_CALLS)}
