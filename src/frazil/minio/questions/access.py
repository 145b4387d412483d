"""Questions about access: sign-ins, sessions, refusals."""

from frazil.minio.questions.question import Question

LOGINS = Question(
    name="logins",
    title="Who signed in, and who failed to?",
    answers="Calls that make a session: the console's logins, which are such calls too, OpenID, LDAP and plain "
    "AssumeRole.",
    columns={
        "time": "when",
        "outcome": "`success` or `failure`",
        "who": "user; for a failure the name that was tried, where the record has it",
        "identity": "name in the token",
        "method": "STS API, such as AssumeRoleWithWebIdentity",
        "via": "`console` or `client`, by the program that called",
        "source_host": "address that the server saw",
        "forwarded_for": "addresses that proxies have added",
        "status": "HTTP status",
        "reason": "why it failed, where the record says so",
        "session_key": "access key of the session that was made",
        "expires_at": "end of that session",
        "request_id": "id of the request",
    },
    sql="""
SELECT
    time,
    CASE WHEN status < 400 THEN 'success' WHEN status >= 400 THEN 'failure' END AS outcome,
    coalesce(who, ldap_username) AS who,
    identity,
    api AS method,
    CASE WHEN user_agent LIKE '%Console%' THEN 'console' ELSE 'client' END AS via,
    source_host, forwarded_for, status,
    CASE WHEN status >= 400 THEN error END AS reason,
    CASE WHEN status < 400 THEN element_at(claims, 'accessKey') END AS session_key,
    CASE WHEN status < 400 THEN EXPIRY(claims) END AS expires_at,
    request_id
FROM service_calls
WHERE (lower(api) LIKE 'assumerole%' OR type = 'auth')
    AND (who = :user OR access_key = :user OR identity = :user OR ldap_username = :user)
ORDER BY time DESC
LIMIT :rows
""",
)

SESSIONS = Question(
    name="sessions",
    title="Which sessions were used, and what for?",
    answers="Sessions that were made or used in that time, each with the call that made it (up to 7 days earlier) and "
    "the calls that were made with its access key.",
    columns={
        "session_key": "access key of the session",
        "assumed_at": "when it was made",
        "assumed_by": "STS API that made it",
        "who": "user who made it",
        "identity": "name in the token",
        "source_host": "address that it was made from",
        "expires_at": "end of the session",
        "calls": "calls with its key",
        "denied": "of these, refused with 401 or 403",
        "buckets": "different buckets",
        "hosts": "different addresses that used it",
        "first_call": "first call with its key",
        "last_call": "last call with its key",
    },
    sql="""
WITH used AS (
    SELECT
        access_key,
        count(*) AS calls,
        count_if(status IN (401, 403)) AS denied,
        count(DISTINCT bucket) AS buckets,
        count(DISTINCT source_host) AS hosts,
        min(time) AS first_call,
        max(time) AS last_call
    FROM api_calls
    WHERE access_key IS NOT NULL
    GROUP BY access_key
)
SELECT
    s.session_key, s.assumed_at, s.assumed_by, s.who, s.identity, s.source_host, s.expires_at,
    coalesce(u.calls, 0) AS calls, coalesce(u.denied, 0) AS denied, coalesce(u.buckets, 0) AS buckets,
    coalesce(u.hosts, 0) AS hosts, u.first_call, u.last_call
FROM sessions_made AS s
LEFT JOIN used AS u ON u.access_key = s.session_key
WHERE (s.assumed_at >= :since OR u.calls > 0)
    AND (s.who = :user OR s.session_key = :user OR s.identity = :user)
ORDER BY s.assumed_at DESC
LIMIT :rows
""",
)

WHY_DENIED = Question(
    name="why-denied",
    title="Why was this refused?",
    answers="Calls that ended with 401 or 403, each with the reason that the servers gave (in the record, in the "
    "response's headers or in the error log of the same request), the session behind its access key, and the call that "
    "made this session (up to 7 days earlier).",
    columns={
        "time": "when",
        "api": "API that was called",
        "bucket": "bucket",
        "object": "key of the object",
        "status": "HTTP status",
        "reason": "why; null when no record says it",
        "who": "user behind the access key",
        "access_key": "access key of the request",
        "parent_user": "user that the key belongs to: there is one for sessions and service accounts",
        "identity": "name in the token",
        "policy": "policies that the token names",
        "session_policy": "whether the session has a policy of its own, which narrows the user's",
        "expires_at": "end of the session",
        "assumed_at": "when the session was made; null when no record of it was found",
        "assumed_by": "STS API that made it",
        "assumed_from": "address that it was made from",
        "assume_request": "id of the request that made it",
        "claims": "all claims of the request",
        "source_host": "address that the server saw",
        "user_agent": "program of the client",
        "request_id": "id of the request, as in the error that the client got",
    },
    sql="""
WITH errors_logged AS (
    SELECT element_at(tags, 'requestID') AS request_id, max(message) AS message
    FROM errorlogs
    WHERE time >= :since AND time < :until AND element_at(tags, 'requestID') IS NOT NULL
    GROUP BY element_at(tags, 'requestID')
)
SELECT
    c.time, c.api, c.bucket, c.object, c.status,
    coalesce(c.error, e.message, CASE WHEN EXPIRY(c.claims) < c.time THEN 'the session had expired' END) AS reason,
    c.who, c.access_key, c.parent_user,
    coalesce(c.identity, s.identity) AS identity,
    element_at(c.claims, 'policy') AS policy,
    element_at(c.claims, 'sessionPolicy') IS NOT NULL AS session_policy,
    coalesce(EXPIRY(c.claims), s.expires_at) AS expires_at,
    s.assumed_at, s.assumed_by, s.source_host AS assumed_from, s.request_id AS assume_request,
    c.claims, c.source_host, c.user_agent, c.request_id
FROM api_calls AS c
LEFT JOIN errors_logged AS e ON e.request_id = c.request_id
LEFT JOIN sessions_made AS s ON s.session_key = c.access_key
WHERE c.status IN (401, 403)
    AND c.object = :object
    AND (c.who = :user OR c.access_key = :user OR c.identity = :user OR s.who = :user)
ORDER BY c.time DESC
LIMIT :rows
""",
)

QUESTIONS = (LOGINS, SESSIONS, WHY_DENIED)
