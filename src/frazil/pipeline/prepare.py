"""Preparation of Kafka rows for routes and decoders: the envelope is opened, transformations are applied."""

import logging
from dataclasses import replace
from functools import lru_cache

from frazil.pipeline.envelope import Envelope, opened
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.absent import absent_fields
from frazil.pipeline.transforms.chain import transformer
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.values import Prepared, Values
from frazil.text.amounts import counted

logger = logging.getLogger(__name__)

_SOME = 20
"""Records among which fields are looked for."""
_MOST_TOPICS = 1000


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
    prepared = _prepared(rows, transforms, envelope, columns=columns, quick=quick)
    if transforms is not None and _left_nothing(rows, prepared.values):
        _tell(rows, transforms, envelope)
    return prepared


def _prepared(
    rows: Rows, transforms: TransformChain | None, envelope: Envelope | None, *, columns: bool, quick: bool
) -> Prepared:
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


def _left_nothing(rows: Rows, values: Values) -> bool:
    """Whether all records that are left are null, and some were not."""
    none = values.values and not any(map(len, values.columns)) and all(value is None for value in values.values)
    return bool(none) and any(value is not None for value in rows.values)


def _tell(rows: Rows, transforms: TransformChain, envelope: Envelope | None) -> None:
    """Say once of a topic in this process which fields its records lack, if that is why nothing is left of them."""
    told = _told(transforms)
    if rows.topic in told or len(told) >= _MOST_TOPICS:
        return
    for text in absent_fields([rows.take(range(min(len(rows), _SOME)))], transforms, envelope):
        told.add(rows.topic)
        logger.warning(
            "topic %s: transformations leave null of %s from partition %d, offset %d on. %s",
            rows.topic,
            counted(len(rows), "record"),
            rows.partition,
            rows.offsets[0],
            text,
        )


@lru_cache(maxsize=16)
def _told(transforms: TransformChain) -> set[str]:
    return set()
