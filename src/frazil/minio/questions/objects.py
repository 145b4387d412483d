"""Questions about objects: who deleted one, who read one, what happened to it."""

from frazil.minio.questions.question import Question

_CALLER = {
    "who": "user behind the access key: its parent user, else the key itself, else the name in the token",
    "access_key": "access key of the request; that of a session or a service account differs from its user",
    "source_host": "address that the server saw",
    "request_id": "id of the request, as in the error that a client gets",
}

WHO_DELETED = Question(
    name="who-deleted",
    title="Who deleted this object?",
    answers="Deletions that succeeded: of one object, of many at once, by lifecycle rules, and of whole buckets. "
    "Community servers name the objects of a multi-delete. A multi-delete whose record has no names, and the deletion "
    "of a bucket, come last, and are shown for every object that may have been among them; `what` tells these apart.",
    columns={
        "time": "when",
        "bucket": "bucket of the object",
        "object": "key of the object; null when the record does not name one",
        "version_id": "version that was deleted; null for the newest one",
        "what": "`object`, `objects without names` or `bucket`",
        "api": "API that was called",
        "origin": "`client`, or what the cluster did itself, such as `ilm`",
        **_CALLER,
        "user_agent": "program of the client",
    },
    sql="""
SELECT
    time, bucket, object, version_id,
    CASE
        WHEN object IS NOT NULL THEN 'object'
        WHEN regexp_like(lower(api), 'bucket$') THEN 'bucket'
        ELSE 'objects without names'
    END AS what,
    api, origin, who, access_key, source_host, request_id, user_agent
FROM object_calls
WHERE regexp_like(
        lower(api),
        '^(delete(multiple)?objects?|(force)?deletebucket|ilmexpiry|ilmfreeversiondelete)$'
    )
    AND (status IS NULL OR status < 300)
    AND (object = :object OR object IS NULL)
    AND (who = :user OR access_key = :user OR identity = :user)
ORDER BY object IS NULL, time DESC
LIMIT :rows
""",
)

WHO_READ = Question(
    name="who-read",
    title="Who read this object?",
    answers="Downloads that succeeded, whole objects and ranges, and SELECT requests. Asking for metadata is not among "
    "them.",
    columns={
        "time": "when",
        "bucket": "bucket of the object",
        "object": "key of the object",
        "version_id": "version that was asked for; null for the newest one",
        "api": "API that was called",
        "status": "HTTP status; 206 is a range",
        "bytes_out": "bytes sent",
        **_CALLER,
        "user_agent": "program of the client",
    },
    sql="""
SELECT
    time, bucket, object, version_id, api, status, bytes_out, who, access_key, source_host, request_id, user_agent
FROM api_calls
WHERE regexp_like(lower(api), '^(getobject|selectobjectcontent)$')
    AND status < 300
    AND object = :object
    AND (who = :user OR access_key = :user OR identity = :user)
ORDER BY time DESC
LIMIT :rows
""",
)

OBJECT_HISTORY = Question(
    name="object-history",
    title="What happened to this object?",
    answers="Every call that names the object, the cluster's own ones too: writes, reads, deletions, refusals.",
    columns={
        "time": "when",
        "bucket": "bucket of the object",
        "object": "key of the object",
        "version_id": "version that was named",
        "api": "API that was called",
        "origin": "`client`, or what the cluster did itself, such as `heal`",
        "status": "HTTP status",
        "bytes_in": "bytes received",
        "bytes_out": "bytes sent",
        **_CALLER,
    },
    sql="""
SELECT
    time, bucket, object, version_id, api, origin, status, bytes_in, bytes_out, who, access_key, source_host, request_id
FROM object_calls
WHERE object = :object
    AND (who = :user OR access_key = :user OR identity = :user)
ORDER BY time DESC
LIMIT :rows
""",
    required=("object",),
)

QUESTIONS = (WHO_DELETED, WHO_READ, OBJECT_HISTORY)
