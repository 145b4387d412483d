"""Preparation of Kafka rows for routes and decoders: the envelope is opened, transformations are applied."""

from __future__ import annotations

from dataclasses import replace

from frazil.pipeline.envelope import Envelope, opened
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.chain import transformer
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.values import Prepared, Values


def prepare(
    rows: Rows,
    transforms: TransformChain | None,
    *,
    envelope: Envelope | None,
    columns: bool = False,
    quick: bool = True,
) -> Prepared:
    """Open the envelope of records, and transform them.

    With `envelope` they come with schemas, which what transformations leave keeps. With `columns` values may be such,
    and those without a schema may still have their transformations before them. Without `quick` each record is looked
    at, whatever the transformations are.
    """
    chain = None if transforms is None else transformer(transforms)
    if chain is not None and envelope is None:
        if columns:
            return chain.unread(rows)
        return chain.texts(rows) if quick else chain.transform(rows)
    columns &= chain is None or chain.takes_columns
    values, failed = opened(rows, envelope, columns=columns) if envelope is not None else (Values(rows.values), [])
    if chain is None:
        return Prepared(values, (), failed)
    prepared = chain.prepared(rows, values)
    return replace(prepared, failed=[*failed, *prepared.failed])
