"""ByLogicalTableRouter: one topic for the tables that are parts of one."""

from frazil.declare.definition import Key
from frazil.declare.validators import all_of, java_regular_expression, non_empty
from frazil.pipeline.transforms.classes.regex_router import check_replacement, renamer, renames
from frazil.pipeline.transforms.columns import ApplyToBlock
from frazil.pipeline.transforms.debezium_event import PACKAGE
from frazil.pipeline.transforms.plugin import Options, Transformation, text
from frazil.pipeline.transforms.record import Apply

_KEYS = "keys are not stored. Rows of several tables that have one key need a column more, such as InsertField's topic"


def _renames(options: Options) -> tuple[Apply, ApplyToBlock]:
    """A new name that is empty leaves the topic as it is."""
    rename = renamer(text(options, "topic.regex"), text(options, "topic.replacement"))
    return renames(lambda topic: rename(topic) or topic)


def _of_key(name: str, documentation: str, default: str | None = None) -> Key:
    return Key(name, "STRING", documentation, default=default, importance="LOW", no_effect=_KEYS)


BY_LOGICAL_TABLE_ROUTER = Transformation(
    name="ByLogicalTableRouter",
    documentation="Debezium: renames the topic when the expression matches the whole of it, so that the topics of "
    "shards become one. The offsets stay those of the topic read.",
    keys=(
        Key("topic.regex", "STRING", "Regular expression.", validator=all_of(non_empty, java_regular_expression)),
        Key("topic.replacement", "STRING", "The new name; $1 and ${name} are groups."),
        _of_key("key.enforce.uniqueness", "Whether the key gets a field with the name of the table.", "true"),
        _of_key("key.field.name", "Name of this field.", "__dbz__physicalTableIdentifier"),
        _of_key("key.field.regex", "Regular expression for its value."),
        _of_key("key.field.replacement", "What replaces a match."),
        _of_key("schema.name.adjustment.mode", "How names of schemas are made valid.", "none"),
        _of_key("logical.table.cache.size", "Size of a cache.", "16"),
    ),
    packages=PACKAGE,
    check=check_replacement("topic.regex", "topic.replacement"),
    build=lambda options, part: _renames(options)[0],
    columns=lambda options: _renames(options)[1],
    of_json=True,
)
