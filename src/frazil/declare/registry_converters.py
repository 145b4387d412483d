"""Keys of the converters that read schemas from a registry: Confluent's and Apicurio's."""

from collections.abc import Iterator

from frazil.declare.definition import REQUIRED, Key, Parsed, Required, Validator, Value
from frazil.declare.validators import at_least

AVRO_CONVERTER = "io.confluent.connect.avro.AvroConverter"
APICURIO_AVRO_CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"
APICURIO_JSON_CONVERTER = "io.apicurio.registry.utils.converter.ExtJsonConverter"

JSON_SCHEMA_CONVERTER = "io.confluent.connect.json.JsonSchemaConverter"
PROTOBUF_CONVERTER = "io.confluent.connect.protobuf.ProtobufConverter"

REGISTRY_CONVERTERS: tuple[str, ...] = (
    AVRO_CONVERTER,
    APICURIO_AVRO_CONVERTER,
    APICURIO_JSON_CONVERTER,
    JSON_SCHEMA_CONVERTER,
    PROTOBUF_CONVERTER,
)
"""Converters that are supported."""

SUBJECT_NAMES = {
    "io.confluent.kafka.serializers.subject.TopicNameStrategy": "topic",
    "io.confluent.kafka.serializers.subject.AssociatedNameStrategy": "topic",
    "io.confluent.kafka.serializers.subject.RecordNameStrategy": "record",
    "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy": "topic-record",
}
"""Strategies by their classes, each with what the subject of a schema is made of."""

ID_WIDTHS = {
    "io.apicurio.registry.serde.Default4ByteIdHandler": 4,
    "io.apicurio.registry.serde.Legacy8ByteIdHandler": 8,
    "io.apicurio.registry.serde.Legacy4ByteIdHandler": 4,
    "io.apicurio.registry.serde.DefaultIdHandler": 8,
}
"""Bytes of the id in front of a record by Apicurio's classes: two of version 3, two of version 2."""

_URL, _APICURIO = "schema.registry.url", "apicurio.registry."
_WRITES = "it is for writing"
_WAITS = "a connector waits and tries again by itself"
KEPT = "schemas are kept while they are used"
_IN_JSON = "the id is in the JSON of a record"
BOTH_FORMS = "numbers and Base64 are both read"
_NO_EFFECT = {
    "auto.register.schemas": _WRITES,
    "normalize.schemas": _WRITES,
    "use.schema.id": _WRITES,
    "use.schema.guid": _WRITES,
    "propagate.schema.tags": _WRITES,
    "ignore.default.for.nullables": _WRITES,
    "id.compatibility.strict": _WRITES,
    "latest.compatibility.strict": _WRITES,
    "max.retries": _WAITS,
    "retries.wait.ms": _WAITS,
    "retries.max.wait.ms": _WAITS,
    "max.schemas.per.subject": KEPT,
    "schemas.cache.config": KEPT,
    "schemas.cache.size": KEPT,
    "latest.cache.size": KEPT,
    "latest.cache.ttl.sec": "the newest schema is asked for once for each schema that records have",
    "schema.registry.url.randomize": "URLs are asked in turn",
    "rule.service.loader.enable": "there are no rules",
    **{
        f"missing.{name}": "an id that the registry lacks is asked for again after 10 seconds"
        for name in ("id.cache.ttl.sec", "version.cache.ttl.sec", "schema.cache.ttl.sec", "cache.size")
    },
    **{
        f"schema.registry.ssl.{name}": "TLS is that of Python: 1.2 and newer, with its ciphers"
        for name in (
            *("protocol", "enabled.protocols", "cipher.suites", "provider"),
            *("keymanager.algorithm", "trustmanager.algorithm", "secure.random.implementation"),
        )
    },
}
_LOGINS = (
    ("basic.auth.credentials.source", "USER_INFO", ("basic.auth.user.info",)),
    ("bearer.auth.credentials.source", "STATIC_TOKEN", ("bearer.auth.token",)),
    (
        "bearer.auth.credentials.source",
        "OAUTHBEARER",
        ("bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret"),
    ),
)
"""Key and value of a way to log in, and the keys that it needs."""
_PEM = {
    "truststore.certificates": "Certificates that it is trusted by, as PEM text.",
    "keystore.certificate.chain": "Our certificate and those that lead to its root, as PEM text.",
    "keystore.key": "Key of our certificate, as PEM text.",
}
_OAUTH = {
    "issuer.endpoint.url": "URL at which the identity provider gives tokens, with OAUTHBEARER.",
    "client.id": "Client that asks for tokens, with OAUTHBEARER.",
    "client.secret": "Secret of that client.",
    "scope": "Scope that is asked for, with OAUTHBEARER.",
    "logical.cluster": "Registry that is asked, `lsrc-…` in Confluent Cloud, with OAUTHBEARER.",
    "identity.pool.id": "Identity pool of the client in Confluent Cloud, with OAUTHBEARER.",
}
_APICURIO_OAUTH = {
    "service.token.endpoint": "URL at which the identity provider gives tokens.",
    "client.id": "Client that asks for tokens.",
    "client.secret": "Secret of that client.",
    "client.scope": "Scope that is asked for.",
}
_REFUSED = (
    "use.latest.with.metadata",
    "context.name.strategy",
    "rule.executors",
    "rule.actions",
    "schema.backup.enabled",
    "schema.reflection",
    "proxy.host",
    "proxy.port",
    "bearer.auth.custom.provider.class",
    "schema.registry.ssl.engine.factory.class",
)
"""Options of Confluent's converters by which other values would be read, or the registry another way."""
_AVRO_NO_EFFECT = {
    "avro.remove.java.properties": _WRITES,
    "allow.optional.map.keys": _WRITES,
    "scrub.invalid.names": "it is for writing: names in Avro schemas are valid",
    "specific.avro.reader": "there are no classes of records",
    "avro.fail.on.trailing.data": "bytes behind a record are always refused",
}
_JSON_NO_EFFECT = {
    "json.oneof.for.nullables": _WRITES,
    "json.schema.spec.version": _WRITES,
    "json.write.dates.iso8601": _WRITES,
    "object.additional.properties": _WRITES,
    "use.optional.for.nonrequired": "what a schema does not require may be absent anyway",
    "decimal.format": BOTH_FORMS,
    "json.fail.unknown.properties": "members that a schema does not name are left out",
    "ignore.modern.dialects": "all dialects are read",
}
_PROTOBUF_NO_EFFECT = {
    "scrub.invalid.names": "it is for writing: names in Protobuf schemas are valid",
    "reference.lookup.only": _WRITES,
    "reference.subject.name.strategy": _WRITES,
    "skip.known.types": _WRITES,
}
_APICURIO_NO_EFFECT = {
    "check-period-ms": "what an id stands for never changes",
    "retry-count": _WAITS,
    "retry-backoff-ms": _WAITS,
    "auto-register": _WRITES,
    "auto-register.if-exists": _WRITES,
    "find-latest": _WRITES,
    "artifact-resolver-strategy": _WRITES,
    "artifact.group-id": _WRITES,
    "artifact.artifact-id": _WRITES,
}
_APICURIO_JSON_NO_EFFECT = {
    f"{_APICURIO}id-handler": _IN_JSON,
    f"{_APICURIO}headers.enabled": _IN_JSON,
    "schemas.cache.size": KEPT,
    "decimal.format": BOTH_FORMS,
}


def registry_keys(class_name: str, role: str, unused: str | None) -> tuple[Key, ...]:
    """Keys of a converter with its prefix; `unused` says why records of this role are not read."""
    registry = _apicurio() if class_name in (APICURIO_AVRO_CONVERTER, APICURIO_JSON_CONVERTER) else _confluent(role)
    own = {
        APICURIO_AVRO_CONVERTER: _apicurio_avro,
        APICURIO_JSON_CONVERTER: _apicurio_json,
        JSON_SCHEMA_CONVERTER: _json,
        PROTOBUF_CONVERTER: _protobuf,
    }.get(class_name, _avro)
    return tuple(_placed(key, f"{role}.converter.", unused) for key in (*registry, *own()))


def check_login(parsed: Parsed, role: str) -> None:
    """Refuse a way to log in without the keys that it needs."""
    prefix = f"{role}.converter."
    for source, way, needed in _LOGINS:
        key = parsed.definition.keys.get(prefix + source)
        if key is None or key.no_effect is not None or parsed.values.get(prefix + source) != way:
            continue
        for name in needed:
            if not parsed.values.get(prefix + name):
                parsed.fail(prefix + name, f'Missing required configuration "{prefix}{name}", which {way} needs.')


def _placed(key: Key, prefix: str, unused: str | None) -> Key:
    default = None if unused and isinstance(key.default, Required) else key.default
    return Key(
        prefix + key.name,
        key.type,
        key.documentation,
        default,
        key.importance,
        key.validator,
        tuple(prefix + alias for alias in key.aliases),
        unused or key.no_effect,
        group="Schema registry",
        width="MEDIUM",
        display_name=key.name,
        recommended=key.recommended,
    )


def _confluent(role: str) -> Iterator[Key]:
    yield Key(_URL, "LIST", "URLs of the schema registry, asked in turn.", REQUIRED, "HIGH")
    yield Key(
        "basic.auth.credentials.source",
        "STRING",
        "Where user and password are: URL or USER_INFO.",
        "URL",
        validator=_one_of("URL", "USER_INFO"),
    )
    yield Key(
        "basic.auth.user.info",
        "PASSWORD",
        "User and password, `user:password`, with USER_INFO.",
        "",
        aliases=("schema.registry.basic.auth.user.info",),
    )
    yield Key(
        "bearer.auth.credentials.source",
        "STRING",
        "Where the token is: STATIC_TOKEN, or OAUTHBEARER for one of an identity provider.",
        None,
        validator=_one_of("STATIC_TOKEN", "OAUTHBEARER"),
    )
    yield Key("bearer.auth.token", "PASSWORD", "Token that is sent, with STATIC_TOKEN.", "")
    for name, what in _OAUTH.items():
        yield Key(f"bearer.auth.{name}", "PASSWORD" if name == "client.secret" else "STRING", what, None)
    yield Key(
        "bearer.auth.cache.expiry.buffer.seconds",
        "INT",
        "How long before its end a token is renewed, with OAUTHBEARER, in seconds.",
        300,
        "LOW",
        validator=at_least(0),
    )
    for claim in ("scope", "sub"):
        yield _ignored(f"bearer.auth.{claim}.claim.name", "the registry checks the token")
    for name, what in (("connect", "a connection"), ("read", "an answer")):
        yield Key(
            f"http.{name}.timeout.ms",
            "INT",
            f"How long to wait for {what}, in milliseconds.",
            60_000,
            "LOW",
            validator=at_least(1),
        )
    yield from _stores("schema.registry.ssl.")
    for name, what in _PEM.items():
        yield Key(f"schema.registry.ssl.{name}", "PASSWORD" if name == "keystore.key" else "STRING", what, None, "LOW")
    yield Key(
        f"{role}.subject.name.strategy",
        "CLASS",
        "How the subject is named that a schema has its version from.",
        "io.confluent.kafka.serializers.subject.AssociatedNameStrategy",
        validator=_one_of(*SUBJECT_NAMES),
        recommended=tuple(SUBJECT_NAMES),
    )
    yield _flag("use.latest.version", "Whether records are read with the newest schema of their subject.", False)
    yield Key("request.header.*", "STRING", "Header of the requests, such as `request.header.X-Tenant`.", None)
    yield Key(
        "schema.registry.ssl.endpoint.identification.algorithm",
        "STRING",
        "How the name of the registry is checked: https.",
        "https",
        "LOW",
        validator=_one_of("https"),
    )
    yield _ignored(f"{role}.schema.id.serializer", _WRITES)
    yield _ignored(f"{role}.schema.id.deserializer", "ids are read from headers and before records")
    for name in _REFUSED:
        yield Key(name, "STRING", "Option that is not supported.", None, "LOW", validator=_unset)
    for name, reason in _NO_EFFECT.items():
        yield _ignored(name, reason)


def _apicurio_avro() -> Iterator[Key]:
    yield Key(
        f"{_APICURIO}id-handler",
        "CLASS",
        "How many bytes the id before a record has: four or eight.",
        next(iter(ID_WIDTHS)),
        validator=_one_of(*ID_WIDTHS),
        recommended=tuple(ID_WIDTHS),
    )
    yield _ignored(f"{_APICURIO}headers.enabled", "ids in headers are always read")
    yield from _avro()


def _apicurio_json() -> Iterator[Key]:
    yield _flag("replace.null.with.default", "Whether a null takes the default value of its field.", True)
    for name, reason in _APICURIO_JSON_NO_EFFECT.items():
        yield _ignored(name, reason)


def _apicurio() -> Iterator[Key]:
    yield Key(f"{_APICURIO}url", "LIST", "URLs of the registry, asked in turn.", REQUIRED, "HIGH")
    yield Key(f"{_APICURIO}auth.username", "STRING", "User at the registry.", "")
    yield Key(f"{_APICURIO}auth.password", "PASSWORD", "Password at the registry.", "")
    for name, what in _APICURIO_OAUTH.items():
        yield Key(f"{_APICURIO}auth.{name}", "PASSWORD" if name == "client.secret" else "STRING", what, None)
    yield Key(
        f"{_APICURIO}use-id",
        "STRING",
        "Which of the registry's numbers records have: contentId or globalId.",
        "contentId",
        validator=_one_of("contentId", "globalId"),
        recommended=("contentId", "globalId"),
    )
    yield from _stores(f"{_APICURIO}tls.")
    for name, reason in _APICURIO_NO_EFFECT.items():
        yield _ignored(_APICURIO + name, reason)


def _avro() -> Iterator[Key]:
    yield _flag(
        "enhanced.avro.schema.support", "Whether members that branches of a union become have full names.", False
    )
    yield _flag("connect.meta.data", "Whether documentation and parameters of schemas are kept.", True)
    yield from _unions()
    for name, reason in _AVRO_NO_EFFECT.items():
        yield _ignored(name, reason)


def _json() -> Iterator[Key]:
    yield from _unions()
    for name, what in (
        ("json.fail.invalid.schema", "Whether records that are not valid by their schema are refused; false."),
        ("preserve.additional.properties", "Whether members that a schema does not name are kept; false."),
    ):
        yield Key(name, "BOOLEAN", what, False, "LOW", validator=_false)
    for name, reason in _JSON_NO_EFFECT.items():
        yield _ignored(name, reason)


def _protobuf() -> Iterator[Key]:
    yield _flag("enhanced.protobuf.schema.support", "Whether names of schemas have the package of the message.", False)
    yield _sums()
    yield _flag("int.for.enums", "Whether enums are their numbers, and not their names.", False)
    yield _flag("optional.for.nullables", "Whether only fields with `optional` may be null in the schema.", False)
    yield _flag("optional.for.proto2", "Whether fields of proto2 with `optional` are null when they are absent.", True)
    yield _flag("wrapper.for.nullables", "Whether a wrapper such as StringValue is the value inside of it.", False)
    yield _flag("wrapper.for.raw.primitives", "Whether a record that is a wrapper is the value inside of it.", True)
    yield _flag("generate.struct.for.nulls", "Whether a message that is absent is one without values, not null.", False)
    yield _flag("generate.index.for.unions", "Whether the name of a oneof has its number behind it.", True)
    yield _flag("flatten.unions", "Whether the fields of a oneof are members of the record itself.", False)
    for name, reason in _PROTOBUF_NO_EFFECT.items():
        yield _ignored(name, reason)


def _sums() -> Key:
    return _flag("generalized.sum.type.support", "Whether unions and enums are Connect's generalized ones.", False)


def _unions() -> Iterator[Key]:
    yield _sums()
    yield _flag("flatten.singleton.unions", "Whether a union of one type is that type.", True)


def _stores(prefix: str) -> Iterator[Key]:
    for store, holds in (("truststore", "the certificates that it is trusted by"), ("keystore", "our certificate")):
        yield Key(f"{prefix}{store}.location", "STRING", f"File with {holds}.", None)
        yield Key(f"{prefix}{store}.type", "STRING", "PEM for a PEM file; PKCS12 and JKS are known.", None)
        yield Key(f"{prefix}{store}.password", "PASSWORD", "Password of that file.", None)
    yield Key(f"{prefix}key.password", "PASSWORD", "Password of the key in the keystore.", None)


def _flag(name: str, documentation: str, default: bool) -> Key:
    return Key(name, "BOOLEAN", documentation, default)


def _ignored(name: str, reason: str) -> Key:
    return Key(name, "STRING", "Option that changes nothing here.", None, "LOW", no_effect=reason)


def _one_of(*values: str) -> Validator:
    def check(value: Value) -> str | None:
        if value is None or str(value) in values:
            return None
        return f"Not supported. Set one of: {', '.join(values)}"

    return check


def _unset(value: Value) -> str | None:
    return None if value in (None, "", "false") else "Not supported. Leave it out"


def _false(value: Value) -> str | None:
    return "Not supported. Leave it out" if value is True else None
