"""The question about administration and IAM changes."""

from frazil.minio.questions.question import Question

# Fields of the arms of `details`, in the order in which the first that is there counts.
_TARGETS = (
    "user.userName", "serviceAccount.accountName", "policy.policyName", "group.groupName", "bucketConfig.bucketName",
    "bucketQuota.bucketName", "bucketQOS.bucketName", "bucketInventory.bucketName", "tier.tierName", "config.subSystem",
    "service.serviceName", "kms.keyId", "siteRepl.siteName", "idp.idpName", "recorder.logType", "heal.bucket",
    "batch.jobID",
)  # fmt: skip
_FIELDS = (
    "user.field", "config.key", "bucketConfig.configType", "bucketInventory.inventoryID", "idp.configKey",
    "policy.operation", "service.operation", "kms.operation", "pool.operation", "siteRepl.operation", "heal.operation",
    "batch.jobType", "tier.tierType", "bucketQuota.quotaType",
)  # fmt: skip
_BEFORE = (
    "config.oldValue", "user.oldValue", "user.oldStatus", "policy.oldPolicy", "policy.policiesDetached",
    "group.oldStatus", "group.membersRemoved", "bucketConfig.oldConfig", "idp.oldValue", "recorder.oldEnabled",
    "recorder.oldLimit",
)  # fmt: skip
_AFTER = (
    "config.newValue", "user.newValue", "user.newStatus", "user.policies", "serviceAccount.updatedStatus",
    "serviceAccount.policies", "policy.newPolicy", "policy.policiesAttached", "group.newStatus", "group.membersAdded",
    "bucketConfig.newConfig", "bucketQuota.quotaSize", "bucketQOS.enabled", "bucketInventory.destinationBucket",
    "idp.newValue", "recorder.newEnabled", "recorder.newLimit",
)  # fmt: skip


def _first(paths: tuple[str, ...]) -> str:
    """SQL for the first of these fields of `details` that is there, as text."""
    return ", ".join(f"JSON_VALUE_TEXT(details, '$.{path}')" for path in paths)


_SQL = """
WITH recorded AS (
    SELECT
        time, category, action, "apiName" AS api, bucket, message,
        coalesce({targets}, nullif(bucket, '')) AS target,
        coalesce({fields}) AS field,
        coalesce(JSON_VALUE_TEXT(metadata, '$.diff.old'), {before}) AS before,
        coalesce(JSON_VALUE_TEXT(metadata, '$.diff.new'), {after}) AS after,
        coalesce(metadata, details) AS details,
        WHO("parentUser", "accessKey", "requestClaims") AS who,
        nullif("accessKey", '') AS access_key,
        IDENTITY("requestClaims") AS identity,
        "sourceHost" AS source_host, "requestID" AS request_id
    FROM auditlogs
    WHERE time >= :since AND time < :until AND bucket = :bucket
        AND (category IS NOT NULL OR coalesce(JSON_TEXT(details, '$.name'), '') <> "apiName")
),
called AS (
    SELECT
        time,
        CASE WHEN path LIKE '/minio/admin/%' THEN 'admin' ELSE 'bucket' END AS category,
        CAST(NULL AS VARCHAR) AS action, api, bucket,
        CAST(NULL AS VARCHAR) AS message,
        coalesce(query_target, nullif(bucket, '')) AS target,
        CAST(NULL AS VARCHAR) AS field,
        CAST(NULL AS VARCHAR) AS before,
        query_value AS after,
        CAST(NULL AS VARCHAR) AS details,
        who, access_key, identity, source_host, request_id
    FROM api_calls
    WHERE legacy AND status < 300
        AND (
            path LIKE '/minio/admin/%' AND NOT regexp_like(
                lower(api),
                '^(get|list|info|help|export|inspect|status|background|trace|console|top|metrics|health|profil|'
                || 'speedtest|drivespeed|netperf|client|bandwidth|temporary|replicationdiff|'
                || '(server|storage|datausage|account)info|kms.*status|'
                || 'sitereplication(info|status|metainfo|devnull|netperf))'
            )
            OR regexp_like(lower(api), '^(put|delete|forcedelete)bucket')
        )
)
SELECT
    time, who, category, action, target, field, before, after, message, api, bucket, access_key, source_host, details,
    request_id
FROM (
    SELECT
        time, category, action, api, bucket, message, target, field, before, after, details, who, access_key, identity,
        source_host, request_id
    FROM recorded
    UNION ALL
    SELECT
        time, category, action, api, bucket, message, target, field, before, after, details, who, access_key, identity,
        source_host, request_id
    FROM called
) AS changes
WHERE (who = :user OR access_key = :user OR identity = :user OR target = :user)
ORDER BY time DESC
LIMIT :rows
"""

CHANGES = Question(
    name="changes",
    title="Who changed what: users, policies, configuration?",
    answers="Audit records of both generations, with the value before and after where the record has it. Records of "
    "community servers have neither; for these the administration calls and changes of buckets that succeeded are "
    "shown. --user also finds the user that was changed.",
    columns={
        "time": "when",
        "who": "user who made the change",
        "category": "what kind of thing was changed, such as `policy`; `admin` or `bucket` for community servers",
        "action": "what was done, such as `attach`; null in records of newer servers, see `message`",
        "target": "name of what was changed",
        "field": "part of it that was changed, or the operation",
        "before": "value before",
        "after": "value after",
        "message": "what was done, in the words of a newer server",
        "api": "API that was called",
        "bucket": "bucket, for changes of one",
        "access_key": "access key of the request",
        "source_host": "address that the server saw",
        "details": "everything that the record says about the change, as JSON text",
        "request_id": "id of the request",
    },
    sql=_SQL.replace("{targets}", _first(_TARGETS))
    .replace("{fields}", _first(_FIELDS))
    .replace("{before}", _first(_BEFORE))
    .replace("{after}", _first(_AFTER)),
)

QUESTIONS = (CHANGES,)
