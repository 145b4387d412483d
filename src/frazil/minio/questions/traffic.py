"""Questions about traffic: how much, by whom, from where."""

from frazil.minio.questions.question import Question

TRAFFIC = Question(
    name="traffic",
    title="How much was read and written, per bucket and hour?",
    answers="Calls of clients and the bytes of them. What the cluster does itself (healing, lifecycle rules, "
    "replication) is left out. A size that a record does not know counts as 0.",
    columns={
        "hour": "begin of the hour, UTC",
        "bucket": "bucket; null for calls that belong to none",
        "calls": "all calls",
        "reads": "downloads and SELECT requests",
        "writes": "uploads, parts of uploads and copies",
        "deletes": "deletions of objects; a multi-delete counts once",
        "lists": "listings",
        "errors": "calls with HTTP status 400 or more",
        "bytes_in": "bytes received",
        "bytes_out": "bytes sent",
    },
    sql="""
SELECT
    date_trunc('hour', time) AS hour,
    bucket,
    count(*) AS calls,
    count_if(regexp_like(lower(api), '^(getobject|selectobjectcontent)$')) AS reads,
    count_if(regexp_like(lower(api), '^((put|copy)object(part|extract)?|postpolicybucket|completemultipartupload)$'))
        AS writes,
    count_if(regexp_like(lower(api), '^delete(multiple)?objects?$')) AS deletes,
    count_if(regexp_like(lower(api), '^list')) AS lists,
    count_if(status >= 400) AS errors,
    CAST(coalesce(sum(bytes_in), 0) AS BIGINT) AS bytes_in,
    CAST(coalesce(sum(bytes_out), 0) AS BIGINT) AS bytes_out
FROM api_calls
WHERE (origin IS NULL OR origin = 'client')
    AND (who = :user OR access_key = :user OR identity = :user)
GROUP BY date_trunc('hour', time), bucket
ORDER BY hour DESC, calls DESC, bucket
LIMIT :rows
""",
    rows=100,
)

TALKERS = Question(
    name="talkers",
    title="Who makes the most calls?",
    answers="Users and the addresses that they call from, the busiest first.",
    columns={
        "who": "user behind the access key",
        "access_key": "access key",
        "source_host": "address that the server saw",
        "calls": "all calls",
        "errors": "calls with HTTP status 400 or more",
        "buckets": "different buckets",
        "bytes_in": "bytes received",
        "bytes_out": "bytes sent",
        "busy_s": "time that the servers took for these calls, in seconds; null when no record has a duration",
        "first_call": "first call",
        "last_call": "last call",
        "user_agent": "program of the newest call",
    },
    sql="""
SELECT
    who, access_key, source_host,
    count(*) AS calls,
    count_if(status >= 400) AS errors,
    count(DISTINCT bucket) AS buckets,
    CAST(coalesce(sum(bytes_in), 0) AS BIGINT) AS bytes_in,
    CAST(coalesce(sum(bytes_out), 0) AS BIGINT) AS bytes_out,
    round(sum(duration_ms) / 1000, 3) AS busy_s,
    min(time) AS first_call,
    max(time) AS last_call,
    NEWEST(user_agent) AS user_agent
FROM api_calls
WHERE (origin IS NULL OR origin = 'client')
    AND (who = :user OR access_key = :user OR identity = :user)
GROUP BY who, access_key, source_host
ORDER BY calls DESC, who, access_key, source_host
LIMIT :rows
""",
)

PROXIES = Question(
    name="proxies",
    title="Which clients are behind proxies?",
    answers="Calls that came with a header of a proxy: X-Forwarded-For, X-Real-Ip or Forwarded. `trusted` tells "
    "whether the server took the client's address from it. A client that reaches the server directly can "
    "forge such a header.",
    columns={
        "source_host": "address that the server saw",
        "client": "first address in the header: the client, if the proxies are honest",
        "forwarded": "the whole header",
        "trusted": "whether the server logged the client's address and not the proxy's",
        "calls": "all calls",
        "users": "different users",
        "denied": "calls refused with 401 or 403",
        "first_call": "first call",
        "last_call": "last call",
    },
    sql="""
WITH proxied AS (
    SELECT
        time, source_host, status, who,
        coalesce(forwarded_for, real_ip, forwarded) AS header,
        coalesce(
            trim(split_part(forwarded_for, ',', 1)),
            real_ip,
            regexp_extract(forwarded, '[Ff]or="?([^;,"]+)', 1)
        ) AS client
    FROM api_calls
    WHERE coalesce(forwarded_for, real_ip, forwarded) IS NOT NULL
        AND (who = :user OR access_key = :user OR identity = :user)
)
SELECT
    source_host, client, header AS forwarded,
    source_host = client AS trusted,
    count(*) AS calls,
    count(DISTINCT who) AS users,
    count_if(status IN (401, 403)) AS denied,
    min(time) AS first_call,
    max(time) AS last_call
FROM proxied
GROUP BY source_host, client, header
ORDER BY calls DESC, source_host, forwarded
LIMIT :rows
""",
)

QUESTIONS = (TRAFFIC, TALKERS, PROXIES)
