"""Fields that transformations look for and that no record has, as those whose names are misspelt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import Envelope, opened
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.declaration import TransformChain, TransformConfig
from frazil.pipeline.transforms.record import Apply, Members, Record, members, object_or_none, open_value
from frazil.pipeline.transforms.registry import TRANSFORMATIONS
from frazil.pipeline.values import Values

_MOST_NAMES, _LONGEST_NAME = 1000, 200
_FEW = 10
"""Names that are all told where none is near."""


@dataclass
class _Look:
    """A path that a key names; `names` are those that records have at `missing`, the first name that they lack."""

    key: str
    path: tuple[str, ...]
    missing: str = ""
    without: int = 0
    found: bool = False
    names: set[str] = field(default_factory=set)

    def at(self, level: Members) -> None:
        """Look into a record; one that has no object on the way tells nothing."""
        *outer, last = self.path
        for name in outer:
            if name not in level:
                return self._lacks(name, level)
            inner = object_or_none(level[name])
            if inner is None:
                return None
            level = inner
        if last not in level:
            return self._lacks(last, level)
        self.found = True
        return None

    def _lacks(self, name: str, level: Members) -> None:
        self.missing = name
        self.without += 1
        short = [one for one in level if len(one) <= _LONGEST_NAME]
        self.names.update(short[: _MOST_NAMES - len(self.names)])

    def told(self) -> str:
        """Say that no record has the field, and which ones are near."""
        names, wanted = sorted(self.names), self.missing.lower()
        near = [name for name in names if name.lower() == wanted] or get_close_matches(self.missing, names, 3)
        near = near or (names if len(names) <= _FEW else [])
        where = f"; there is {', '.join(near)}" if near else ""
        return f"{self.key}: no record of {self.without:,} has the field {'.'.join(self.path)}{where}"


def absent_fields(
    records: Iterable[Rows],
    chain: TransformChain | None,
    envelope: Envelope | None,
    last: tuple[str, Sequence[str]] = ("", ()),
) -> list[str]:
    """Tell of the fields that keys name and that no record has at the transformation which looks for them.

    `last` is a key that names the path of a field behind all of them, and this path.
    """
    looks: list[_Look] = []

    def watched(config: TransformConfig, apply: Apply) -> Apply:
        named = TRANSFORMATIONS[config.name].fields(dict(config.settings))
        own = [_Look(f"transforms.{config.alias}.{key}", path) for key, path in named]
        looks.extend(own)

        def watch(record: Record) -> bool | None:
            level = members(record, config.part)
            for look in own if level is not None else ():
                look.at(level)  # type: ignore[arg-type]
            return apply(record)

        return watch if own else apply

    transformer = None if chain is None else Transformer(chain, watched)
    behind = _Look(last[0], tuple(last[1]))
    looks += [behind] if behind.path else []
    for rows in records:
        values = Values(rows.values) if envelope is None else opened(rows, envelope)[0]
        values = values if transformer is None else transformer.transform(rows, values).values
        for value in values.values if behind.path else ():
            try:
                level = None if value is None else object_or_none(open_value(value))
            except ConversionError:
                continue  # it is a dead letter, whose reason says so
            if level is not None:
                behind.at(level)
    return [look.told() for look in looks if look.without and not look.found]
