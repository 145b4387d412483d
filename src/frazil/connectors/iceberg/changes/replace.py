"""A snapshot that takes data files out, brings new ones and marks rows of others as deleted, all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _OverwriteFiles

_SMALL_BYTES = 64 << 10


@dataclass(frozen=True)
class Replacement:
    """Files that a snapshot changes: data files `removed` and `added`, and position delete files.

    Of these `deletes` are new and `undone` go; `told` is for the snapshot's summary.
    """

    removed: Sequence[DataFile] = ()
    added: Sequence[DataFile] = ()
    deletes: Sequence[DataFile] = ()
    undone: Sequence[DataFile] = ()
    told: Mapping[str, str] = field(default_factory=dict)


def stage_replacement(
    transaction: Transaction, io: FileIO, branch: str, summary: Mapping[str, str], change: Replacement
) -> None:
    """Add the snapshot to a transaction, conditional on the branch head that the transaction began with.

    Raises pyiceberg's ValidationException when a removed file is not in the branch.
    """
    producer = _ReplaceFiles(transaction, io, branch, summary, change)
    for file in change.removed:
        producer.delete_data_file(file)
    for file in change.added:
        producer.append_data_file(file)
    producer.commit()


class _ReplaceFiles(_OverwriteFiles):
    """PyIceberg's overwrite, with delete files, which it can read but not write yet."""

    def __init__(
        self, transaction: Transaction, io: FileIO, branch: str, summary: Mapping[str, str], change: Replacement
    ) -> None:
        told = {**summary, **change.told}
        super().__init__(Operation.OVERWRITE, transaction, io, branch=branch, snapshot_properties=told)
        self._change = change

    def _manifests(self) -> list[ManifestFile]:
        """The summary is made after the manifests, and counts all files that are added or removed."""
        manifests = super()._manifests()
        self._added_data_files = [*self._added_data_files, *self._change.deletes]
        self._deleted_data_files = {*self._deleted_data_files, *self._change.undone}
        return manifests

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        """Write manifests of delete files, small ones as one, and leave out those that tell of removals alone."""
        undone = set(self._change.undone)
        specs = {file.spec_id for file in (*self._change.deletes, *undone)}
        before: dict[int, list[ManifestEntry]] = {spec_id: [] for spec_id in specs}
        kept = []
        for manifest in manifests:
            if manifest.content == ManifestContent.DELETES and manifest.partition_spec_id in specs:
                entries = manifest.fetch_manifest_entry(self._io)
                small = manifest.manifest_length <= _SMALL_BYTES
                if small or not undone.isdisjoint(entry.data_file for entry in entries):
                    before[manifest.partition_spec_id] += entries
                    continue
            own = manifest.added_snapshot_id == self._snapshot_id
            if own or manifest.has_added_files() or manifest.has_existing_files():
                kept.append(manifest)
        return [*kept, *(self._delete_manifest(spec_id, before[spec_id], undone) for spec_id in sorted(specs))]

    def _delete_manifest(self, spec_id: int, before: Sequence[ManifestEntry], undone: set[DataFile]) -> ManifestFile:
        output, spec = self.new_manifest_output(), self.spec(spec_id)
        with _DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, self._compression) as writer:
            for file in self._change.deletes:
                if file.spec_id == spec_id:
                    writer.add(ManifestEntry.from_args(snapshot_id=self._snapshot_id, data_file=file))
            for entry in before:
                (writer.delete if entry.data_file in undone else writer.existing)(entry)
        return writer.to_manifest_file()


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}
