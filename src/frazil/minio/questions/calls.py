"""Relations that questions read beside the tables: API calls of every record shape under one set of names.

A statement that names one of RELATIONS gets it as a WITH query, with the columns that it uses.
"""

IDENTITY_CLAIMS = ("preferred_username", "ldapUsername", "ldapActualUser", "ldapUser", "email", "sub", "parent")
"""Claims of OpenID, LDAP and plain sessions that name somebody, the most telling one first."""

#: Expressions that statements write like functions: parameters and body.
#:
#: `milliseconds` reads a Go duration such as `1m2.5s`, `207.1µs` or `13309747ns`. `µ` is two different
#: characters.
MACROS: dict[str, tuple[tuple[str, ...], str]] = {
    "MILLISECONDS": (
        ("duration",),
        r"""
        CASE WHEN regexp_like(duration, '^([0-9.]+(h|m|s|ms|us|µs|μs|ns))+$') THEN
            coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)h', 1) AS DOUBLE), 0E0) * 3600000
          + coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)m([0-9]|$)', 1) AS DOUBLE), 0E0) * 60000
          + coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)s$', 1) AS DOUBLE), 0E0) * 1000
          + coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)ms', 1) AS DOUBLE), 0E0)
          + coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)[uµμ]s', 1) AS DOUBLE), 0E0) / 1000
          + coalesce(TRY_CAST(regexp_extract(duration, '([0-9.]+)ns', 1) AS DOUBLE), 0E0) / 1000000
        END
        """,
    ),
    # Headers come in Go's canonical spelling; proxies and other servers may write them in lower case.
    "HEADER": (
        ("headers", "canonical", "lowercase"),
        "coalesce(element_at(headers, canonical), element_at(headers, lowercase))",
    ),
    "JSON_TEXT": (("text", "path"), "TRY(json_extract_scalar(text, path))"),
    # Also of lists and objects, as JSON text.
    "JSON_VALUE_TEXT": (
        ("text", "path"),
        "TRY(coalesce(json_extract_scalar(text, path), json_format(json_extract(text, path))))",
    ),
    "WHO": (
        ("parent_user", "access_key", "claims"),
        "coalesce(nullif(parent_user, ''), nullif(access_key, ''), element_at(claims, 'parent'), IDENTITY(claims))",
    ),
    "IDENTITY": (
        ("claims",),
        "coalesce(" + ", ".join(f"element_at(claims, '{name}')" for name in IDENTITY_CLAIMS) + ")",
    ),
    # The newest value that is there; `max_by` alone treats null otherwise in each engine.
    "NEWEST": (("value",), "max_by(value, CASE WHEN value IS NOT NULL THEN time END)"),
    "EXPIRY": (("claims",), "from_unixtime(TRY_CAST(element_at(claims, 'exp') AS DOUBLE))"),
}

_API_CALLS = r"""
SELECT
    time,
    node,
    CASE WHEN origin = 'internal' THEN coalesce(element_at(tags, 'trigger'), origin) ELSE origin END AS origin,
    type,
    regexp_replace(name, '^(s3|sts)\.', '') AS api,
    bucket,
    object,
    "versionId" AS version_id,
    element_at(tags, 'api.objects') AS objects,
    "callInfo"."httpStatusCode" AS status,
    "callInfo"."rx" AS bytes_in,
    "callInfo"."tx" AS bytes_out,
    MILLISECONDS(coalesce("callInfo"."requestTime", "callInfo"."timeToResponse")) AS duration_ms,
    MILLISECONDS("callInfo"."timeToFirstByte") AS first_byte_ms,
    MILLISECONDS("callInfo"."requestReadTime") AS read_ms,
    MILLISECONDS("callInfo"."responseWriteTime") AS write_ms,
    MILLISECONDS("callInfo"."readBlocked") AS read_blocked_ms,
    MILLISECONDS("callInfo"."writeBlocked") AS write_blocked_ms,
    "callInfo"."sourceHost" AS source_host,
    HEADER("callInfo"."requestHeader", 'X-Forwarded-For', 'x-forwarded-for') AS forwarded_for,
    HEADER("callInfo"."requestHeader", 'X-Real-Ip', 'x-real-ip') AS real_ip,
    HEADER("callInfo"."requestHeader", 'Forwarded', 'forwarded') AS forwarded,
    "callInfo"."requestID" AS request_id,
    "callInfo"."userAgent" AS user_agent,
    "callInfo"."requestPath" AS path,
    WHO("callInfo"."parentUser", "callInfo"."accessKey", "callInfo"."requestClaims") AS who,
    nullif("callInfo"."accessKey", '') AS access_key,
    nullif("callInfo"."parentUser", '') AS parent_user,
    IDENTITY("callInfo"."requestClaims") AS identity,
    "callInfo"."requestClaims" AS claims,
    coalesce(
        element_at(tags, 'error'),
        trim('"' FROM HEADER("callInfo"."responseHeader", 'X-Minio-Error-Desc', 'x-minio-error-desc')),
        HEADER("callInfo"."responseHeader", 'X-Minio-Error-Code', 'x-minio-error-code')
    ) AS error,
    element_at("callInfo"."requestQuery", 'LDAPUsername') AS ldap_username,
    coalesce(
        element_at("callInfo"."requestQuery", 'userOrGroup'), element_at("callInfo"."requestQuery", 'accessKey'),
        element_at("callInfo"."requestQuery", 'group'), element_at("callInfo"."requestQuery", 'name'),
        element_at("callInfo"."requestQuery", 'policyName'), element_at("callInfo"."requestQuery", 'bucket')
    ) AS query_target,
    coalesce(
        element_at("callInfo"."requestQuery", 'policyName'), element_at("callInfo"."requestQuery", 'status')
    ) AS query_value,
    coalesce(
        element_at(tags, 'deploymentid'), element_at(tags, 'trigger'), element_at(tags, 'api.status')
    ) IS NOT NULL AS legacy
FROM apilogs
WHERE time >= :since AND time < :until AND bucket = :bucket
UNION ALL
SELECT
    time,
    node,
    CASE element_at(tags, 'trigger') WHEN 'incoming' THEN 'client' ELSE element_at(tags, 'trigger') END AS origin,
    CAST(NULL AS VARCHAR) AS type,
    "apiName" AS api,
    bucket,
    JSON_TEXT(details, '$.object') AS object,
    CAST(NULL AS VARCHAR) AS version_id,
    TRY(json_format(json_extract(details, '$.objects'))) AS objects,
    TRY_CAST(JSON_TEXT(details, '$.statusCode') AS INTEGER) AS status,
    nullif(TRY_CAST(JSON_TEXT(details, '$.rx') AS BIGINT), -1) AS bytes_in,
    nullif(TRY_CAST(JSON_TEXT(details, '$.tx') AS BIGINT), -1) AS bytes_out,
    MILLISECONDS(JSON_TEXT(details, '$.timeToResponse')) AS duration_ms,
    MILLISECONDS(JSON_TEXT(details, '$.timeToFirstByte')) AS first_byte_ms,
    CAST(NULL AS DOUBLE) AS read_ms,
    CAST(NULL AS DOUBLE) AS write_ms,
    CAST(NULL AS DOUBLE) AS read_blocked_ms,
    CAST(NULL AS DOUBLE) AS write_blocked_ms,
    "sourceHost" AS source_host,
    JSON_TEXT(element_at(tags, 'requestHeader'), '$["X-Forwarded-For"]') AS forwarded_for,
    JSON_TEXT(element_at(tags, 'requestHeader'), '$["X-Real-Ip"]') AS real_ip,
    JSON_TEXT(element_at(tags, 'requestHeader'), '$["Forwarded"]') AS forwarded,
    "requestID" AS request_id,
    element_at(tags, 'userAgent') AS user_agent,
    element_at(tags, 'requestPath') AS path,
    WHO("parentUser", "accessKey", "requestClaims") AS who,
    nullif("accessKey", '') AS access_key,
    nullif("parentUser", '') AS parent_user,
    IDENTITY("requestClaims") AS identity,
    "requestClaims" AS claims,
    coalesce(
        element_at(tags, 'error'),
        trim('"' FROM JSON_TEXT(element_at(tags, 'responseHeader'), '$["X-Minio-Error-Desc"]')),
        JSON_TEXT(element_at(tags, 'responseHeader'), '$["X-Minio-Error-Code"]')
    ) AS error,
    JSON_TEXT(element_at(tags, 'requestQuery'), '$.LDAPUsername') AS ldap_username,
    coalesce(
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.userOrGroup'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.accessKey'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.group'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.name'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.policyName'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.bucket')
    ) AS query_target,
    coalesce(
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.policyName'),
        JSON_TEXT(element_at(tags, 'requestQuery'), '$.status')
    ) AS query_value,
    TRUE AS legacy
FROM auditlogs
WHERE time >= :since AND time < :until AND bucket = :bucket
    AND category IS NULL AND JSON_TEXT(details, '$.name') = "apiName"
"""

#: Calls with one row for each object that they name: a multi-delete has several, or none where the record lacks them.
_OBJECT_CALLS = """
SELECT
    c.time, c.node, c.origin, c.api, c.bucket,
    coalesce(json_extract_scalar(item, '$.objectName'), c.object) AS object,
    coalesce(json_extract_scalar(item, '$.versionId'), c.version_id) AS version_id,
    c.status, c.bytes_in, c.bytes_out, c.duration_ms, c.source_host, c.request_id, c.user_agent, c.who, c.access_key,
    c.identity
FROM api_calls AS c
CROSS JOIN UNNEST(
    CASE WHEN c.objects LIKE '[{%' THEN CAST(json_parse(c.objects) AS ARRAY(JSON))
    ELSE ARRAY[CAST(NULL AS JSON)] END
) AS named (item)
"""

#: Calls that belong to no bucket: those that sign in are among them.
_SERVICE_CALLS = _API_CALLS.replace("bucket = :bucket", "(bucket IS NULL OR bucket = '')")

#: The same from as long before the wanted time as a session may be old.
_SIGN_INS = _SERVICE_CALLS.replace(":since", ":sessions_since")

#: Sessions by their access key, which a call that makes one tells among its claims.
_SESSIONS = """
SELECT
    element_at(claims, 'accessKey') AS session_key,
    max(time) AS assumed_at,
    NEWEST(api) AS assumed_by,
    NEWEST(who) AS who,
    NEWEST(identity) AS identity,
    NEWEST(source_host) AS source_host,
    NEWEST(user_agent) AS user_agent,
    NEWEST(request_id) AS request_id,
    max(EXPIRY(claims)) AS expires_at
FROM sign_ins
WHERE lower(api) LIKE 'assumerole%' AND status < 300 AND element_at(claims, 'accessKey') IS NOT NULL
GROUP BY element_at(claims, 'accessKey')
"""

#: Name and statement of each relation; one may read those before it.
RELATIONS: dict[str, str] = {
    "sign_ins": _SIGN_INS,
    "service_calls": _SERVICE_CALLS,
    "api_calls": _API_CALLS,
    "object_calls": _OBJECT_CALLS,
    "sessions_made": _SESSIONS,
}
