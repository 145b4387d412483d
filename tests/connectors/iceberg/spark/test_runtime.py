from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.connectors.iceberg.spark.runtime import IcebergRuntime, jvm, quoted, spark_properties
from frazil.errors import ConfigError, NotFound, ServiceUnavailable
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable

SECRET = "s3cr3t-of-a-connector"


def rows(runtime: IcebergRuntime, statement: str) -> list[str]:
    """What a statement gives, as the JVM prints it; `collect` would leave a socket open."""
    return [str(row) for row in runtime.session.sql(statement)._jdf.collectAsList()]  # noqa: SLF001


def test_properties_in_the_spelling_of_the_sink_become_those_of_iceberg() -> None:
    assert spark_properties(
        {
            "uri": "http://catalog",
            "warehouse": "w",
            "rest.sigv4-enabled": "true",
            "rest.signing-region": "eu-west-1",
            "token": "",
            "s3.endpoint": "http://store",
        }
    ) == {
        "type": "rest",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "uri": "http://catalog",
        "warehouse": "w",
        "rest.auth.type": "sigv4",
        "rest.auth.sigv4.delegate-auth-type": "none",
        "rest.signing-region": "eu-west-1",
        "client.region": "eu-west-1",
        "s3.endpoint": "http://store",
        "cache-enabled": "false",
        "rest-metrics-reporting-enabled": "false",
    }


def test_keys_for_catalog_and_store_at_once_go_to_both() -> None:
    properties = spark_properties(
        {"client.access-key-id": "a", "client.secret-access-key": "b", "s3.access-key-id": "c"}
    )
    assert properties["rest.access-key-id"] == "a"
    assert properties["s3.access-key-id"] == "c"
    assert properties["rest.secret-access-key"] == properties["s3.secret-access-key"] == "b"
    assert not any(key.startswith("client.") for key in properties)


def test_a_delegate_with_a_token_is_left_to_iceberg() -> None:
    properties = spark_properties({"rest.auth.type": "sigv4", "token": "t"})
    assert "rest.auth.sigv4.delegate-auth-type" not in properties


def test_a_profile_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match="AWS_PROFILE"):
        spark_properties({"client.profile-name": "me"})


def test_names_are_quoted() -> None:
    assert quoted("c", "ns.odd`name") == "`c`.`ns`.`odd``name`"


@pytest.mark.spark
def test_a_merge_changes_a_table_of_the_catalog(
    runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable
) -> None:
    table = make_table()
    table.append(pa.table({"id": [1, 2], "text": ["one", "two"]}))
    name = quoted(runtime.catalog(stack.settings.catalog_properties()), ".".join(table.name()))
    runtime.session.sql(
        f"MERGE INTO {name} t USING (SELECT 2 AS id, 'changed' AS text UNION ALL SELECT 3, 'new') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.text = s.text WHEN NOT MATCHED THEN INSERT *"
    )
    changed = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    assert changed == [{"id": 1, "text": "one"}, {"id": 2, "text": "changed"}, {"id": 3, "text": "new"}]


@pytest.mark.spark
def test_procedures_can_be_called(runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable) -> None:
    table = make_table()
    for number in range(6):
        table.append(pa.table({"id": [number], "text": ["x"]}))
    catalog = runtime.catalog(stack.settings.catalog_properties())
    name = ".".join(table.name())
    [row] = rows(runtime, f"CALL {catalog}.system.rewrite_data_files(table => '{name}')")
    assert row.startswith("[6,1,")
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == list(range(6))


@pytest.mark.spark
def test_catalogs_stand_side_by_side_and_leave_no_secret_behind(
    runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable
) -> None:
    table = make_table()
    properties = stack.settings.catalog_properties()
    first = runtime.catalog(properties)
    assert runtime.catalog(dict(properties)) == first
    second = runtime.catalog({**properties, "s3.secret-access-key": SECRET})
    assert second != first
    for catalog in (first, second):
        assert runtime.session.table(quoted(catalog, ".".join(table.name()))).schema.names == ["id", "text"]
    settings = rows(runtime, "SET -v") + rows(runtime, "SET")
    settings.append(jvm(runtime.session).java.lang.System.getProperties().toString())
    settings.append(runtime.session.sparkContext.getConf().toDebugString())
    for secret in (SECRET, properties["s3.secret-access-key"]):
        assert not any(secret in text for text in settings)


@pytest.mark.spark
def test_a_refused_key_is_an_error_of_the_configuration(runtime: IcebergRuntime, stack: LocalStack) -> None:
    properties = {**stack.settings.catalog_properties(), "rest.secret-access-key": SECRET}
    with pytest.raises(ConfigError, match="access keys") as error:
        runtime.table(properties, "somewhere.something")
    assert SECRET not in str(error.value)


@pytest.mark.spark
def test_a_catalog_that_does_not_answer_can_be_asked_again(runtime: IcebergRuntime, stack: LocalStack) -> None:
    properties = {**stack.settings.catalog_properties(), "uri": "http://127.0.0.1:9"}
    for _ in range(2):
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:9"):
            runtime.catalog(properties)


@pytest.mark.spark
def test_a_missing_table_is_not_found(runtime: IcebergRuntime, stack: LocalStack, namespace: str) -> None:
    with pytest.raises(NotFound, match=f"{namespace}.missing"):
        runtime.table(stack.settings.catalog_properties(), f"{namespace}.missing")


@pytest.mark.spark
def test_a_table_that_names_code_is_not_handed_to_the_jvm(
    runtime: IcebergRuntime, stack: LocalStack, make_table: MakeTable
) -> None:
    table = make_table()
    with table.transaction() as transaction:
        transaction.set_properties({"write.location-provider.impl": "java.lang.Object"})
    with pytest.raises(
        ConfigError, match=r"the properties of table \S+ name code to be loaded by write\.location-prov"
    ):
        runtime.table(stack.settings.catalog_properties(), ".".join(table.name()))
