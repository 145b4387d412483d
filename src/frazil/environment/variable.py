"""Declaration of an environment variable, and the variables of Kafka's clients and of the topics file."""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["text", "port", "url", "path", "secret", "switch", "count"]

KAFKA: Final = "Kafka"
_FILE = "Topics file"
_CLUSTER = "as KAFKA_BOOTSTRAP_SERVERS"


@dataclass(frozen=True)
class Variable:
    """Environment variable.

    `default` is what an unset or blank variable means. Where it depends on other variables it is shown with their
    names in angle brackets (`<KAFKA_EXTERNAL_PORT>`). `fallback` is read when this one is unset.
    `no_effect` says why a variable is accepted and yet changes nothing.
    """

    name: str
    group: str
    meaning: str
    used_by: str = ""
    default: str = ""
    kind: Kind = "text"
    fallback: str | None = None
    no_effect: str | None = None

    @property
    def derived(self) -> bool:
        """Whether the default depends on other variables."""
        return "<" in self.default


KAFKA_SECURITY: Final = (
    Variable(
        "KAFKA_SECURITY_PROTOCOL",
        KAFKA,
        "How clients connect to your cluster: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        _CLUSTER,
    ),
    Variable(
        "KAFKA_SASL_MECHANISM", KAFKA, "How they log in: SCRAM-SHA-512, SCRAM-SHA-256, PLAIN or OAUTHBEARER.", _CLUSTER
    ),
    Variable("KAFKA_SASL_USERNAME", KAFKA, "User of SCRAM and PLAIN.", _CLUSTER),
    Variable("KAFKA_SASL_PASSWORD", KAFKA, "Password of that user.", _CLUSTER, kind="secret"),
    Variable(
        "KAFKA_SASL_JAAS_CONFIG",
        KAFKA,
        "Login in Kafka's own spelling, instead of user and password.",
        _CLUSTER,
        kind="secret",
    ),
    Variable(
        "KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL", KAFKA, "Where OAUTHBEARER gets its tokens.", _CLUSTER, kind="url"
    ),
    Variable(
        "KAFKA_SSL_TRUSTSTORE_LOCATION",
        KAFKA,
        "File with the certificates that the brokers are trusted by; unset, those of the system.",
        _CLUSTER,
        kind="path",
    ),
    Variable(
        "KAFKA_SSL_TRUSTSTORE_TYPE", KAFKA, "PEM for a PEM file; PKCS12 and JKS are known by themselves.", _CLUSTER
    ),
    Variable("KAFKA_SSL_TRUSTSTORE_PASSWORD", KAFKA, "Password of that file.", _CLUSTER, kind="secret"),
    Variable(
        "KAFKA_SSL_KEYSTORE_LOCATION",
        KAFKA,
        "File with the certificate and key of the clients, for brokers that ask for one.",
        _CLUSTER,
        kind="path",
    ),
    Variable("KAFKA_SSL_KEYSTORE_TYPE", KAFKA, "PEM for a PEM file; PKCS12 and JKS are known by themselves.", _CLUSTER),
    Variable("KAFKA_SSL_KEYSTORE_PASSWORD", KAFKA, "Password of that file.", _CLUSTER, kind="secret"),
    Variable("KAFKA_SSL_KEY_PASSWORD", KAFKA, "Password of the key in it.", _CLUSTER, kind="secret"),
    Variable(
        "KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM",
        KAFKA,
        "`https` checks that a broker's certificate has its name; `none` does not.",
        _CLUSTER,
        "https",
    ),
)
"""Variables in Kafka's own words: `KAFKA_SASL_MECHANISM` is `sasl.mechanism`."""

TOPICS_FILE: Final = (
    Variable(
        "FRAZIL_TOPICS_FILE",
        _FILE,
        "YAML file with the topics that the worker stores in S3; `worker --topics` wins over it.",
        "worker",
        kind="path",
    ),
    Variable("S3_BUCKET_NAME", _FILE, "Bucket of entries that name none.", "worker", "test-data-lake"),
    Variable("S3_REGION", _FILE, "Region of that store.", "worker", "us-east-1", fallback="AWS_REGION"),
    Variable(
        "S3_ENDPOINT_URL",
        _FILE,
        "URL of the store of these topics, when it is another one than that of the stack.",
        "worker",
        "<MINIO_ENDPOINT>",
        "url",
    ),
    Variable("BATCH_SIZE", _FILE, "Records of an object, for entries without batch-size.", "worker", "1000", "count"),
    Variable(
        "FLUSH_INTERVAL",
        _FILE,
        "Seconds after which objects are stored that are not full, for entries without flush-interval.",
        "worker",
        "60",
        "count",
    ),
)
"""Variables of a topics file: where the topics go, and the defaults of its entries."""
