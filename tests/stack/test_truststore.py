from __future__ import annotations

from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509 import load_pem_x509_certificate
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from frazil.errors import ConfigError
from frazil.stack.truststore import trust_options


def store_of(options: list[str]) -> Path:
    return Path(options[0].partition("=")[2])


def test_without_variables_java_keeps_its_own_trust(tmp_path: Path) -> None:
    assert trust_options({"FRAZIL_HOME": str(tmp_path)}) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_the_truststore_has_what_is_named_and_what_python_knows(tmp_path: Path) -> None:
    issuer = trustme.CA()
    folder = tmp_path / "certificates"
    folder.mkdir()
    issuer.cert_pem.write_to_path(folder / "issuer.pem")
    for place in (folder / "issuer.pem", folder):
        options = trust_options({"SSL_CERT_FILE": str(place), "FRAZIL_HOME": str(tmp_path)})
        assert options[1:] == ["-Djavax.net.ssl.trustStoreType=PKCS12", "-Djavax.net.ssl.trustStorePassword=changeit"]
        found = [one.certificate for one in load_pkcs12(store_of(options).read_bytes(), b"changeit").additional_certs]
        assert load_pem_x509_certificate(issuer.cert_pem.bytes()) in found
        assert len(found) > 100
        assert len(found) == len(set(found))


def test_another_certificate_makes_another_truststore(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    env = {"REQUESTS_CA_BUNDLE": str(bundle), "FRAZIL_HOME": str(tmp_path)}
    bundle.write_bytes(Path(DEFAULT_CA_BUNDLE_PATH).read_bytes())
    first = trust_options(env)
    assert trust_options(env) == first
    trustme.CA().cert_pem.write_to_path(bundle)
    assert store_of(trust_options(env)) != store_of(first)


def test_a_truststore_of_the_users_stays(tmp_path: Path) -> None:
    env = {"SSL_CERT_FILE": DEFAULT_CA_BUNDLE_PATH, "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/mine.p12"}
    assert trust_options(env | {"FRAZIL_HOME": str(tmp_path)}) == []


def test_a_variable_that_names_no_certificate_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for place, reason in (("absent.pem", "cannot be read"), ("empty.pem", "holds no certificate")):
        with pytest.raises(ConfigError, match=f"SSL_CERT_FILE=.*{place} {reason}"):
            trust_options({"SSL_CERT_FILE": str(tmp_path / place), "FRAZIL_HOME": str(tmp_path)})
