"""Keys of the S3 sink that say how objects are stored."""

from frazil.declare.definition import Key, Value
from frazil.declare.validators import LONGEST_BACKOFF_MS, at_least, between, non_empty, one_of, one_of_any_case

_MIN_PART = 5 << 20
_ACLS = (
    "private",
    "public-read",
    "public-read-write",
    "authenticated-read",
    "log-delivery-write",
    "bucket-owner-read",
    "bucket-owner-full-control",
    "aws-exec-read",
)
_HTTP = "the HTTP client decides it"
_BOUNDED = "what waits goes to a file when it is too much for memory"


def _tags(value: Value) -> str | None:
    wrong = [tag for tag in (value if isinstance(value, tuple) else ()) if tag and not tag.partition(":")[0].strip()]
    wrong += [tag for tag in (value if isinstance(value, tuple) else ()) if tag and ":" not in tag]
    return f"Tags are written key:value; these are not: {', '.join(wrong)}" if wrong else None


S3_KEYS: tuple[Key, ...] = (
    Key("s3.bucket.name", "STRING", "Bucket of the objects.", importance="HIGH", validator=non_empty),
    Key("s3.region", "STRING", "Region of the bucket.", default="us-west-2", validator=non_empty),
    Key(
        "s3.part.size",
        "INT",
        "Size of the parts of large objects, in bytes.",
        default=25 << 20,
        importance="HIGH",
        validator=between(_MIN_PART, (1 << 31) - 1, f"Part size must be at least: {_MIN_PART} bytes (5MB)"),
    ),
    Key("s3.part.retries", "INT", "How often a request to the store is tried again.", default=3, validator=at_least(0)),
    Key(
        "s3.retry.backoff.ms",
        "LONG",
        "Wait before the first of these attempts, in milliseconds; it doubles, with as much at random on top.",
        default=200,
        importance="LOW",
        validator=between(0, LONGEST_BACKOFF_MS),
    ),
    Key(
        "s3.compression.type",
        "STRING",
        "Compression of JSON Lines and of bytes: none or gzip.",
        default="none",
        validator=one_of("none", "gzip"),
    ),
    Key(
        "s3.compression.level",
        "INT",
        "Level of gzip, 1 to 9; -1 is its default.",
        default=-1,
        importance="LOW",
        validator=between(-1, 9),
    ),
    Key(
        "s3.object.tagging",
        "BOOLEAN",
        "Whether objects have the tags startOffset, endOffset and recordCount.",
        default=False,
        importance="LOW",
    ),
    Key(
        "s3.object.tagging.key.value.pairs",
        "LIST",
        "More tags, each as key:value.",
        default=(),
        importance="LOW",
        validator=_tags,
    ),
    Key(
        "s3.object.behavior.on.tagging.error",
        "STRING",
        "What a failed tagging does.",
        default="ignore",
        importance="LOW",
        validator=one_of_any_case("IGNORE", "FAIL"),
        no_effect="an object is stored with its tags in one step",
    ),
    Key("s3.ssea.name", "STRING", "Encryption at the store: AES256 or aws:kms.", default="", importance="LOW"),
    Key("s3.sse.customer.key", "PASSWORD", "Key of the customer for this encryption.", default="", importance="LOW"),
    Key("s3.sse.kms.key.id", "STRING", "Id of the KMS key for this encryption.", default="", importance="LOW"),
    Key(
        "s3.acl.canned",
        "STRING",
        "Canned access control list of the objects.",
        default=None,
        importance="LOW",
        validator=lambda value: None if value is None else one_of(*_ACLS)(value),
    ),
    Key("s3.wan.mode", "BOOLEAN", "Whether S3 transfer acceleration is used.", default=False),
    Key(
        "s3.path.style.access.enabled",
        "BOOLEAN",
        "Whether the bucket stands in the path, not in the host.",
        default=True,
    ),
    Key(
        "s3.credentials.provider.class",
        "CLASS",
        "Class that gives the access keys.",
        default=None,
        importance="LOW",
        no_effect="access keys are aws.access.key.id and aws.secret.access.key, or those of the AWS environment",
    ),
    Key(
        "s3.credentials.provider.*",
        "STRING",
        "Setting of that class.",
        default=None,
        no_effect="the AWS environment (profile, role) gives the access keys",
    ),
    Key(
        "aws.access.key.id",
        "STRING",
        "Access key; without it that of the AWS environment.",
        default="",
        importance="HIGH",
    ),
    Key("aws.secret.access.key", "PASSWORD", "Secret of the access key.", default="", importance="HIGH"),
    Key("s3.proxy.url", "STRING", "HTTP proxy on the way to the store.", default="", importance="LOW"),
    Key("s3.proxy.user", "STRING", "User of the proxy.", default=None, importance="LOW"),
    Key("s3.proxy.password", "PASSWORD", "Password of the proxy.", default="", importance="LOW"),
    Key(
        "s3.http.send.expect.continue",
        "BOOLEAN",
        "Whether requests expect 100-continue.",
        default=True,
        importance="LOW",
        no_effect=_HTTP,
    ),
    Key(
        "s3.send.digest",
        "BOOLEAN",
        "Whether requests have an MD5 digest.",
        default=False,
        importance="LOW",
        no_effect=_HTTP,
    ),
    Key(
        "enable.conditional.writes",
        "BOOLEAN",
        "Whether an object that exists is not written again.",
        default=True,
        importance="LOW",
        no_effect="a name has one content only, so writing it again changes nothing",
    ),
    Key(
        "max.files.scan.limit",
        "INT",
        "How many offsets are tried for a free name.",
        default=100,
        importance="LOW",
        no_effect="a name has one content only",
    ),
    Key(
        "max.write.duration.ms",
        "LONG",
        "Longest time that one call writes.",
        default=(1 << 63) - 1,
        importance="LOW",
        no_effect="a long write never ends the membership in a group",
    ),
    Key(
        "s3.elastic.buffer.enable",
        "BOOLEAN",
        "Whether buffers grow.",
        default=False,
        importance="LOW",
        no_effect=_BOUNDED,
    ),
    Key(
        "s3.elastic.buffer.init.capacity",
        "INT",
        "First size of a buffer.",
        default=131072,
        importance="LOW",
        validator=at_least(4096),
        no_effect=_BOUNDED,
    ),
)
