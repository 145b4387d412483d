from __future__ import annotations

import pytest
from requests import Request
from requests.exceptions import ConnectionError as NoConnection

from frazil.errors import QueryError, ServiceUnavailable
from frazil.minio.records.tables import ERROR_SCHEMA
from frazil.sql.names import Names, answers
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog, log_names


@pytest.mark.parametrize("warehouse", ["kafkawarehouse", "s3://kafkawarehouse", "s3://kafkawarehouse/"])
def test_the_catalog_is_named_after_the_warehouse(warehouse: str) -> None:
    names = Names(MetadataCatalog(LOG_TABLES), warehouse, "streaming")
    assert names.catalog_name == "kafkawarehouse"
    assert names.source(["KafkaWarehouse", "STREAMING", "apilogs"]).table.name() == ("streaming", "apilogs")


def test_a_metadata_table_is_the_part_after_the_last_dollar() -> None:
    names = log_names()
    assert names.source(["apilogs$Snapshots"]).metadata == "snapshots"
    assert names.source(["apilogs"]).metadata is None


def test_tables_that_differ_in_case_have_to_be_written_exactly() -> None:
    names = Names(MetadataCatalog({"Logs": ERROR_SCHEMA, "LOGS": ERROR_SCHEMA}), "w", "streaming")
    assert names.source(["LOGS"]).table.name() == ("streaming", "LOGS")
    other = Names(MetadataCatalog({"Logs": ERROR_SCHEMA, "LOGS": ERROR_SCHEMA}), "w", "streaming")
    with pytest.raises(QueryError, match="could be any of LOGS, Logs"):
        other.source(["logs"])


def test_an_unknown_schema_lists_the_known_ones() -> None:
    with pytest.raises(QueryError, match="there is no schema nosuch; known schemas: streaming"):
        log_names().tables(("nosuch",))
    with pytest.raises(QueryError, match=r"there is no schema \.\./x; known schemas: streaming"):
        log_names().tables(("../x",))


@pytest.mark.parametrize("error", [NoConnection("refused"), OSError("gone")])
def test_a_part_that_does_not_answer_can_be_asked_again(error: Exception) -> None:
    with pytest.raises(ServiceUnavailable, match="ask again"), answers():
        raise error


def test_a_catalog_that_goes_away_is_named_without_what_is_secret() -> None:
    asked = Request("GET", "http://u:secret@lake.example:8181/v1/config?token=secret")
    named = "catalog at lake.example:8181 does not answer any more"
    with pytest.raises(ServiceUnavailable, match=named) as told, answers():
        raise NoConnection("refused", request=asked)
    assert "secret" not in str(told.value)
