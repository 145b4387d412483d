"""A snapshot that takes data files out, brings new ones and marks rows of others as deleted, all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _OverwriteFiles


@dataclass(frozen=True)
class Replacement:
    """Files that a snapshot changes: data files `removed` and `added`, and position delete files `deletes`."""

    removed: Sequence[DataFile] = ()
    added: Sequence[DataFile] = ()
    deletes: Sequence[DataFile] = ()


def stage_replacement(
    transaction: Transaction, io: FileIO, branch: str, summary: Mapping[str, str], change: Replacement
) -> None:
    """Add the snapshot to a transaction, conditional on the branch head that the transaction began with.

    Raises pyiceberg's ValidationException when a removed file is not in the branch.
    """
    producer = _ReplaceFiles(transaction, io, branch, summary, change.deletes)
    for file in change.removed:
        producer.delete_data_file(file)
    for file in change.added:
        producer.append_data_file(file)
    producer.commit()


class _ReplaceFiles(_OverwriteFiles):
    """PyIceberg's overwrite, with delete files, which it can read but not write yet."""

    def __init__(
        self, transaction: Transaction, io: FileIO, branch: str, summary: Mapping[str, str], deletes: Sequence[DataFile]
    ) -> None:
        super().__init__(Operation.OVERWRITE, transaction, io, branch=branch, snapshot_properties=dict(summary))
        self._deletes = deletes

    def _manifests(self) -> list[ManifestFile]:
        """The summary is made after the manifests, and counts all files that are added."""
        manifests = super()._manifests()
        for spec_id in sorted({file.spec_id for file in self._deletes}):
            of_spec = [file for file in self._deletes if file.spec_id == spec_id]
            manifests.append(self._delete_manifest(self.spec(spec_id), of_spec))
        self._added_data_files = [*self._added_data_files, *self._deletes]
        return manifests

    def _delete_manifest(self, spec: PartitionSpec, files: Sequence[DataFile]) -> ManifestFile:
        output = self.new_manifest_output()
        with _DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, self._compression) as writer:
            for file in files:
                entry = ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=self._snapshot_id,
                    sequence_number=None,
                    file_sequence_number=None,
                    data_file=file,
                )
                writer.add(entry)
        return writer.to_manifest_file()


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}
