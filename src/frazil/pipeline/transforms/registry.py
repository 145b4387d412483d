"""The transformations and predicates that a configuration can name, in the order of the reference page."""

from frazil.pipeline.transforms.classes.by_logical_table_router import BY_LOGICAL_TABLE_ROUTER
from frazil.pipeline.transforms.classes.cast import CAST
from frazil.pipeline.transforms.classes.change_events import CHANGE_EVENTS
from frazil.pipeline.transforms.classes.copy_value import COPY_VALUE
from frazil.pipeline.transforms.classes.debezium import DEBEZIUM
from frazil.pipeline.transforms.classes.dms import DMS
from frazil.pipeline.transforms.classes.drop_headers import DROP_HEADERS
from frazil.pipeline.transforms.classes.event_router import EVENT_ROUTER
from frazil.pipeline.transforms.classes.extract_changed_record_state import EXTRACT_CHANGED_RECORD_STATE
from frazil.pipeline.transforms.classes.extract_field import EXTRACT_FIELD
from frazil.pipeline.transforms.classes.extract_new_record_state import EXTRACT_NEW_RECORD_STATE
from frazil.pipeline.transforms.classes.filter import FILTER
from frazil.pipeline.transforms.classes.flatten import FLATTEN
from frazil.pipeline.transforms.classes.header_from import HEADER_FROM
from frazil.pipeline.transforms.classes.header_to_value import HEADER_TO_VALUE
from frazil.pipeline.transforms.classes.hoist_field import HOIST_FIELD
from frazil.pipeline.transforms.classes.insert_field import INSERT_FIELD
from frazil.pipeline.transforms.classes.insert_header import INSERT_HEADER
from frazil.pipeline.transforms.classes.json_to_map import JSON_TO_MAP
from frazil.pipeline.transforms.classes.kafka_metadata import KAFKA_METADATA
from frazil.pipeline.transforms.classes.mask_field import MASK_FIELD
from frazil.pipeline.transforms.classes.mongo_debezium import MONGO_DEBEZIUM
from frazil.pipeline.transforms.classes.predicates import HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES
from frazil.pipeline.transforms.classes.regex_router import REGEX_ROUTER
from frazil.pipeline.transforms.classes.replace_field import REPLACE_FIELD
from frazil.pipeline.transforms.classes.set_schema_metadata import SET_SCHEMA_METADATA
from frazil.pipeline.transforms.classes.timestamp_converter import TIMESTAMP_CONVERTER
from frazil.pipeline.transforms.classes.timestamp_router import TIMESTAMP_ROUTER
from frazil.pipeline.transforms.classes.timezone_converter import TIMEZONE_CONVERTER
from frazil.pipeline.transforms.classes.value_to_key import VALUE_TO_KEY

TRANSFORMATIONS = {
    plugin.name: plugin
    for plugin in (
        CAST,
        DROP_HEADERS,
        EXTRACT_FIELD,
        FILTER,
        FLATTEN,
        HEADER_FROM,
        HOIST_FIELD,
        INSERT_FIELD,
        INSERT_HEADER,
        MASK_FIELD,
        REGEX_ROUTER,
        REPLACE_FIELD,
        SET_SCHEMA_METADATA,
        TIMESTAMP_CONVERTER,
        TIMESTAMP_ROUTER,
        VALUE_TO_KEY,
        COPY_VALUE,
        DMS,
        DEBEZIUM,
        JSON_TO_MAP,
        KAFKA_METADATA,
        MONGO_DEBEZIUM,
        EXTRACT_NEW_RECORD_STATE,
        EVENT_ROUTER,
        BY_LOGICAL_TABLE_ROUTER,
        HEADER_TO_VALUE,
        TIMEZONE_CONVERTER,
        EXTRACT_CHANGED_RECORD_STATE,
        CHANGE_EVENTS,
    )
}
PREDICATES = {plugin.name: plugin for plugin in (HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES)}
"""Predicates by simple name of the class."""
