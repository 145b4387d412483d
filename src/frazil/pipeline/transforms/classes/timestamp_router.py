"""TimestampRouter: the topic renamed by the record's timestamp.

The new topic is what later predicates and transformations see; positions and counters stay with the topic read.
"""

from collections.abc import Callable

from frazil.declare.definition import Key, invalid_value
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import DATE_FORMAT, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import Apply, DataError, Part, Record
from frazil.text.java_dates import JavaDateFormat


def _renamer(options: Options) -> Callable[[str, int], str]:
    template = text(options, "topic.format")
    form = JavaDateFormat(text(options, "timestamp.format"))

    def renamed(topic: str, timestamp: int) -> str:
        try:
            stamp = form.format(timestamp * 1_000_000)
        except ValueError as error:
            raise DataError(f"the record's timestamp {timestamp}: {error}") from None
        return template.replace("${topic}", topic).replace("${timestamp}", stamp)

    return renamed


def _build(options: Options, part: Part) -> Apply:
    renamed = _renamer(options)

    def apply(record: Record) -> None:
        record.topic = renamed(record.topic, record.timestamp)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    renamed = _renamer(options)

    def apply(block: Block) -> Block | None:
        try:
            return block.sent_to(list(map(renamed, block.topics, block.stamps.tolist())))
        except DataError:
            return None

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """A pattern that can be used."""
    name = "timestamp.format"
    pattern = text(options, name)
    try:
        JavaDateFormat(pattern)
    except ValueError as error:
        yield name, invalid_value(prefix + name, pattern, str(error))


TIMESTAMP_ROUTER = Transformation(
    name="TimestampRouter",
    documentation="Renames the topic by the record's timestamp. The offsets stay those of the topic read.",
    keys=(
        Key(
            "topic.format",
            "STRING",
            "The new name; ${topic} and ${timestamp} are replaced.",
            default="${topic}-${timestamp}",
            importance="HIGH",
        ),
        Key("timestamp.format", "STRING", DATE_FORMAT, default="yyyyMMdd", importance="HIGH"),
    ),
    check=_check,
    build=_build,
    columns=_columns,
    of_json=True,
)
