from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.credentials import with_credentials, with_store_access
from frazil.clients.object_store import ObjectStoreConfig
from frazil.environment.settings import Settings
from frazil.errors import ConfigError

WORKER = Settings(
    {
        "MINIO_ACCESS_KEY": "worker-key",
        "MINIO_SECRET_KEY": "worker-secret",
        "MINIO_ENDPOINT": "http://minio:9000",
        "ICEBERG_CATALOG_URI": "http://catalog:8181/iceberg",
    }
)
WITHOUT_KEYS = {
    "type": "rest",
    "uri": "http://minio:9000/_iceberg",
    "warehouse": "kafkawarehouse",
    "rest.sigv4-enabled": "true",
    "rest.signing-name": "s3tables",
    "rest.signing-region": "us-east-1",
    "s3.endpoint": "http://minio:9000",
    "s3.path-style-access": "true",
}
"""A catalog of the embedded store without access keys."""
REST_KEYS = {"rest.access-key-id": "worker-key", "rest.secret-access-key": "worker-secret"}
S3_KEYS = {"s3.access-key-id": "worker-key", "s3.secret-access-key": "worker-secret"}


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without any AWS credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_a_connector_without_keys_gets_the_workers() -> None:
    assert with_credentials(WITHOUT_KEYS, WORKER) == WITHOUT_KEYS | REST_KEYS | S3_KEYS


@pytest.mark.parametrize("uri", ["http://catalog:8181/iceberg/", "http://catalog:8181"])
def test_the_workers_catalog_brings_its_store_along(uri: str) -> None:
    given = {"uri": uri, "rest.auth.type": "sigv4"}
    assert with_credentials(given, WORKER) == given | REST_KEYS | S3_KEYS | {"s3.endpoint": "http://minio:9000"}


@pytest.mark.parametrize("part", ["rest", "client"])
def test_keys_of_the_connector_count(part: str) -> None:
    given = WITHOUT_KEYS | {f"{part}.access-key-id": "own", f"{part}.secret-access-key": "secret"}
    assert with_credentials(given, WORKER) == given


def test_keys_for_the_store_alone_leave_the_catalog_to_the_worker() -> None:
    given = WITHOUT_KEYS | {"s3.access-key-id": "own", "s3.secret-access-key": "secret"}
    assert with_credentials(given, WORKER) == given | REST_KEYS


def test_keys_of_the_aws_environment_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-aws")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "from-aws")
    assert with_credentials(WITHOUT_KEYS, WORKER) == WITHOUT_KEYS


def test_an_aws_profile_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "absent")
    with pytest.raises(ConfigError, match=r"profile \(absent\).*iceberg\.catalog\.rest\.access-key-id"):
        with_credentials(WITHOUT_KEYS, WORKER)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://other:9000/_iceberg",
        "http://minio:9001/_iceberg",
        "https://minio:9000",
        "http://minio:x",
        "minio:9000",
        "",
    ],
)
def test_another_catalog_never_gets_the_workers_keys(elsewhere: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_credentials(WITHOUT_KEYS | {"uri": elsewhere}, WORKER)
    message = str(caught.value)
    assert "iceberg.catalog.rest.access-key-id and iceberg.catalog.rest.secret-access-key" in message
    assert "worker-" not in message


def test_another_store_never_gets_the_workers_keys() -> None:
    with pytest.raises(ConfigError, match=r"iceberg\.catalog\.s3\.access-key-id"):
        with_credentials(WITHOUT_KEYS | {"s3.endpoint": "http://other:9000"}, WORKER)
    unsigned = {"uri": "http://other:8181", "s3.endpoint": "http://other:9000"}
    assert with_credentials(unsigned, WORKER) == unsigned


@given(
    st.dictionaries(
        st.sampled_from(["uri", "s3.endpoint"]),
        st.sampled_from(["http://minio:9000", "http://catalog:8181/x", "http://other", "http://minio", ""]),
    ),
    st.dictionaries(
        st.sampled_from(["rest.sigv4-enabled", "rest.auth.type"]), st.sampled_from(["true", "sigv4", "no"])
    ),
)
def test_keys_go_to_the_workers_own_places_only(places: Mapping[str, str], signing: Mapping[str, str]) -> None:
    own = ("http://minio:9000", "http://catalog:8181/x")
    try:
        result = with_credentials({**places, **signing}, WORKER)
    except ConfigError:
        return
    if "rest.access-key-id" in result:
        assert result["uri"] in own
        assert result["s3.endpoint"] in own  # the libraries use the catalog's keys for the store as well
    if "s3.access-key-id" in result:
        assert result["s3.endpoint"] in own


@pytest.mark.parametrize("part", ["rest", "client", "s3"])
def test_half_a_pair_of_keys_is_refused(part: str) -> None:
    with pytest.raises(ConfigError, match=rf"iceberg\.catalog\.{part}\.secret-access-key is not"):
        with_credentials(WITHOUT_KEYS | {f"{part}.access-key-id": "own"}, WORKER)
    with pytest.raises(ConfigError, match=rf"iceberg\.catalog\.{part}\.access-key-id is not") as caught:
        with_credentials(WITHOUT_KEYS | {f"{part}.secret-access-key": "hush"}, WORKER)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("store", "key"),
    [
        (ObjectStoreConfig("b", "r", "http://minio:9000"), "worker-key"),
        (ObjectStoreConfig("b", "r", "http://elsewhere", access_key="own", secret_key="own"), "own"),
    ],
)
def test_object_sinks_get_the_workers_keys_for_its_own_store_only(store: ObjectStoreConfig, key: str) -> None:
    assert with_store_access(store, WORKER).access_key == key


@pytest.mark.parametrize("endpoint", [None, "http://elsewhere:9000", "http://minio:9001"])
def test_object_sinks_without_keys_for_another_store(endpoint: str | None) -> None:
    with pytest.raises(ConfigError, match="Add aws.access.key.id and aws.secret.access.key") as raised:
        with_store_access(ObjectStoreConfig("b", "r", endpoint), WORKER)
    assert "worker-secret" not in str(raised.value)


def test_object_sinks_take_the_keys_of_the_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "env-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "env-secret")
    assert with_store_access(ObjectStoreConfig("b", "r"), WORKER).access_key == ""
