"""Vocabulary of the logs of a MinIO cluster: names, enumerations and `details` arms."""

from dataclasses import dataclass

NODES = tuple(f"minio-node-{n}" for n in range(1, 5))
BUCKETS = ("testbucket", "backups", "photos", "warehouse", "logs-archive", "ml-datasets", "invoices", "releases")
REGION = "us-east-1"
HOST = "minio.example.net:9000"
USERS = (
    ("minioadmin", ""),
    ("app-reader", ""),
    ("etl-writer", ""),
    ("svc-backup-01", "backup-operator"),
    ("svc-analytics-07", "analytics"),
)
CONSOLE_AGENT = "MinIO (linux; amd64) minio-go/v7.0.95 MinIO Console/(dev)"
USER_AGENTS = (
    "MinIO (linux; amd64) minio-go/v7.0.95 mc/RELEASE.2025-08-13T08-35-41Z",
    "MinIO (linux; arm64) minio-go/v7.0.70",
    "aws-sdk-go-v2/1.36.3 os/linux lang/go#1.24.2 md/GOARCH#amd64 api/s3#1.79.2",
    "Boto3/1.40.1 md/Botocore#1.40.1 ua/2.1 os/linux#6.8.0 lang/python#3.11.9",
    "Apache-Spark/4.1.1 (Hadoop 3.4.2; S3A)",
)
SOURCE_HOSTS = ("10.20.0.11", "10.20.0.12", "192.168.1.100", "172.18.0.7", "fd00::20:7")
#: Clients behind proxies, as X-Forwarded-For names them; the last address is that of the first proxy.
FORWARDED_FOR = ("203.0.113.7", "203.0.113.8, 10.20.0.250", "2001:db8::7, 10.20.0.250")
PROXY_HOST = "10.20.0.250"
VERSION_ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
OBJECTS = (
    "file.txt",
    "2025/q4/report.pdf",
    "raw/part-{n:05d}.snappy.parquet",
    "straße/größe {n}.csv",
    "写真/東京/{n}.jpg",
    "отчёты/итог {n}.xlsx",
    "emoji/🚀-{n}.bin",
    'quoted "name" & <tag> {n}.json',
    "dir\\with\\backslash-{n}.log",
    "tab\tand\nnewline {n}",
    "snapshots/daily/{n:08x}.zst",
)


@dataclass(frozen=True)
class Session:
    """Temporary credentials, made by a call of `api`; `token` tells that no access key signed that call.

    The call carries the claims of the new session, its access key among them, and so does every call of the session.
    The claim `exp` is missing here.
    """

    api: str
    access_key: str
    parent: str
    token: bool
    claims: dict[str, object]


def _session(api: str, access_key: str, parent: str, *, token: bool, **claims: object) -> Session:
    return Session(api, access_key, parent, token, {"accessKey": access_key, "parent": parent, **claims})


SESSIONS: tuple[Session, ...] = (
    _session("AssumeRole", "7QK2M9X4TB8ZC1VN5R0D", "app-reader", token=False, policy="readonly"),
    _session("AssumeRole", "H3W8P6L1YE5JU0GS2K9F", "minioadmin", token=False),
    _session(
        "AssumeRoleWithWebIdentity",
        "B5N1V7R3XM9QD2KT8C4Z",
        "q7cV2dZpXbT4mKJ0h1sYwA8uRf3nLgE6oBiCjD5tHxM",
        token=True,
        sub="6f0c1a52-aaaa-4bbb-8ccc-1234567890ab",
        preferred_username="ada",
        policy="analytics",
    ),
    _session(
        "AssumeRoleWithLDAPIdentity",
        "G2T6J0C8WP4HL9VE1S7X",
        "uid=grace,ou=people,dc=example,dc=net",
        token=True,
        ldapUser="uid=grace,ou=people,dc=example,dc=net",
        ldapUsername="grace",
    ),
)


@dataclass(frozen=True)
class Call:
    """API call of the server; `weight` is its share among generated records."""

    name: str
    type: str
    method: str
    weight: int
    with_object: bool = False
    query: str = ""
    success: int = 200


# Shares of a usual traffic mix: list 30, get 25, head 20, put 10, copy and delete 5 %.
CALLS: tuple[Call, ...] = (
    Call("s3.ListObjectsV2", "bucket", "GET", 30, query="list-type=2&max-keys=1000&prefix=2025%2F"),
    Call("s3.GetObject", "object", "GET", 25, with_object=True),
    Call("s3.HeadObject", "object", "HEAD", 20, with_object=True),
    Call("s3.PutObject", "object", "PUT", 8, with_object=True),
    Call("s3.PutObjectPart", "object", "PUT", 2, with_object=True, query="partNumber=3&uploadId=YzM0"),
    Call("s3.CopyObject", "object", "PUT", 5, with_object=True),
    Call("s3.DeleteObject", "object", "DELETE", 3, with_object=True, success=204),
    Call("s3.DeleteMultipleObjects", "bucket", "POST", 2, query="delete="),
    Call("s3.ListBuckets", "bucket", "GET", 2),
    Call("s3.GetObjectTagging", "object", "GET", 2, with_object=True, query="tagging="),
    Call("s3.GetBucketLocation", "bucket", "GET", 1, query="location="),
    Call("s3.PutBucketVersioning", "bucket", "PUT", 1, query="versioning="),
    Call("s3.SelectObjectContent", "object", "POST", 1, with_object=True, query="select=&select-type=2"),
    Call("admin.ServerInfo", "admin", "GET", 1),
    Call("admin.ListUsers", "admin", "GET", 1),
    Call("sts.AssumeRoleWithWebIdentity", "auth", "POST", 1, query="Action=AssumeRoleWithWebIdentity"),
    Call("sts.AssumeRoleWithLDAPIdentity", "auth", "POST", 1, query="Action=AssumeRoleWithLDAPIdentity"),
    Call("sts.AssumeRole", "auth", "POST", 1, query="Action=AssumeRole"),
    Call("table.LoadTable", "table", "GET", 1),
    Call("table.UpdateTable", "table", "POST", 1),
)

#: Statuses of calls that do not succeed, and what the headers of a response without a body say of them.
OTHER_STATUSES = (304, 400, 403, 403, 404, 404, 404, 416, 500, 503)
HEAD_ERRORS = {
    403: ("AccessDenied", '"Access Denied."'),
    404: ("NoSuchKey", '"The specified key does not exist."'),
    503: ("SlowDownRead", '"Resource requested is unreadable, please reduce your request rate"'),
}

ORIGINS = ("client", "site-replication", "ilm", "batch", "rebalance", "replicate", "decommission", "heal")

ERRORS: tuple[tuple[str, str, str], ...] = (
    ("s3.GetObject", "The specified bucket does not exist", "cmd/bucket-handlers.go:420:cmd.bucketHandlers()"),
    ("s3.PutObject", "Storage reached its minimum free drive threshold.", "cmd/erasure-object.go:1265:cmd.putObject()"),
    ("s3.ListObjectsV2", "context deadline exceeded", "cmd/metacache-walk.go:231:cmd.(*xlStorage).WalkDir()"),
    ("admin.Heal", "drive not found: /mnt/data3", "cmd/erasure-healing.go:312:cmd.healObject()"),
    ("", 'Post "https://hook.example.net/events": dial tcp 10.9.8.7:443: i/o timeout', "internal/http/client.go:88"),
    ("s3.GetObject", "Das Objekt »größe.csv« fehlt auf 2 von 4 Laufwerken", "cmd/erasure-metadata.go:77:cmd.pick()"),
)

CATEGORIES = (
    "config", "user", "service-account", "policy", "group", "bucket", "lifecycle", "replication", "notification",
    "encryption", "cors", "versioning", "service", "kms", "site-replication", "pool", "idp", "log-recorder", "heal",
    "batch",
)  # fmt: skip
ACTIONS = (
    "create", "update", "delete", "enable", "disable", "set", "reset", "restore", "clear", "start", "stop", "restart",
    "attach", "detach",
)  # fmt: skip

#: Example of each arm of the `details` union.
DETAILS: dict[str, dict[str, object]] = {
    "config": {"subSystem": "api", "target": "_", "key": "requests_max", "oldValue": "0", "newValue": "1600"},
    "user": {
        "userName": "app-reader",
        "userType": "reg",
        "policies": ["readonly"],
        "oldStatus": "disabled",
        "newStatus": "enabled",
    },
    "serviceAccount": {
        "accountName": "svc-backup-01",
        "parentUser": "backup-operator",
        "policies": ["readwrite"],
        "expiration": "0001-01-01T00:00:00Z",
        "updatedSecretKey": True,
    },
    "policy": {"policyName": "readonly", "operation": "attach", "user": "app-reader", "policiesAttached": ["readonly"]},
    "group": {"groupName": "analysts", "membersAdded": ["app-reader", "müller"], "newStatus": "enabled"},
    "bucketConfig": {
        "bucketName": "backups",
        "configType": "tagging",
        "oldConfig": '<Tagging><Tag key="team">gut</Tag></Tagging>',
        "newConfig": '<Tagging><Tag key="team">böse & gut</Tag></Tagging>',
        "tagKeys": ["team"],
        "tagCount": 1,
    },
    "bucketQuota": {"bucketName": "photos", "quotaSize": 18446744073709551615, "quotaType": "hard"},
    "bucketQOS": {
        "bucketName": "photos",
        "enabled": True,
        "rules": [{"id": "r1", "label": "slow", "priority": 1, "api": "GetObject", "rate": 100, "burst": 10}],
    },
    "bucketInventory": {"bucketName": "photos", "inventoryID": "inv-1", "destinationBucket": "logs-archive"},
    "tier": {"tierName": "COLD", "tierType": "s3"},
    "service": {"operation": "restart", "iamImport": {"usersAdded": 3, "policiesFailed": 1}},
    "kms": {"keyId": "master-key-1", "operation": "create"},
    "pool": {"endpoints": ["http://minio-node-{1...4}:9000/mnt/data{1...4}"], "operation": "decommission"},
    "siteRepl": {"siteName": "site-b", "endpoint": "https://b.example.net", "operation": "add", "sites": ["a", "b"]},
    "idp": {"idpName": "_", "idpType": "openid", "configKey": "client_secret", "newValue": "***REDACTED***"},
    "recorder": {"logType": "api", "oldEnabled": False, "newEnabled": True, "newLimit": "1GiB", "newFlushCount": 100},
    "heal": {"operation": "start", "bucket": "backups", "prefix": "2025/"},
    "batch": {"jobID": "K9V7qLrZ", "jobType": "replicate", "user": "minioadmin"},
}

#: The arm that records of a category carry; an arm's key is not the category's name.
ARMS: dict[str, tuple[str, ...]] = {
    "config": ("config",),
    "user": ("user",),
    "service-account": ("serviceAccount",),
    "policy": ("policy",),
    "group": ("group",),
    "bucket": ("bucketConfig", "bucketQuota", "bucketQOS", "bucketInventory"),
    "lifecycle": ("bucketConfig", "tier"),
    "replication": ("bucketConfig",),
    "notification": ("bucketConfig",),
    "encryption": ("bucketConfig",),
    "cors": ("bucketConfig",),
    "versioning": ("bucketConfig",),
    "service": ("service",),
    "kms": ("kms",),
    "site-replication": ("siteRepl",),
    "pool": ("pool",),
    "idp": ("idp",),
    "log-recorder": ("recorder",),
    "heal": ("heal",),
    "batch": ("batch",),
}
