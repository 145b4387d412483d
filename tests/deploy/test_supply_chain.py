"""What frazil is made of: complete, with checksums and licences that SPDX knows."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from scripts.supply_chain import document, installed, jars, wheels
from spdx_tools.spdx.writer.write_anything import write_file

from frazil.stack.jars import ICEBERG_SPARK, KAFKA

TOOLS = {"pytest", "mypy", "ruff", "spdx-tools"}


def test_wheels_are_those_of_the_program_and_of_none_of_its_tools() -> None:
    names = {part.name for part in wheels()}
    assert {"pyspark", "pyiceberg", "numpy", "deltalake", "opentelemetry-sdk", "mdurl"} <= names
    assert not names & TOOLS
    assert len([part for part in wheels() if part.name == "numpy"]) > 1


def test_those_that_are_installed_are_listed_once_in_their_version() -> None:
    listed = [(part.name, part.version) for part in installed()]
    assert len(listed) == len({name for name, _ in listed})
    assert ("pyspark", version("pyspark")) in listed
    assert {name for name, _ in listed} <= {part.name for part in wheels()}


def test_jars_are_those_of_the_lock_files_with_their_checksums() -> None:
    listed = {(part.name, part.version): part.hashes for part in jars()}
    for jar_set in (KAFKA, ICEBERG_SPARK):
        for coordinate, checksum in jar_set.locked.items():
            organisation, name, version = coordinate.split(":")[:3]
            assert listed[f"{organisation}:{name}", version] == (checksum,)


def test_each_part_has_checksums_and_a_licence_in_a_document_that_spdx_takes(tmp_path: Path) -> None:
    file = tmp_path / "frazil.spdx.json"
    write_file(document(wheels()), str(file), validate=True)
    packages = json.loads(file.read_text())["packages"]
    assert len(packages) == 1 + len(wheels()) + len(jars())
    without = {package["name"] for package in packages if package["licenseDeclared"] == "NOASSERTION"}
    assert without == {"com.oracle.database.jdbc:ojdbc11", "org.json:json"}
    assert all(part.hashes for part in (*wheels(), *jars()))
