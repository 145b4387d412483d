from __future__ import annotations

from frazil.cli.connect.offsets import read_again
from frazil.environment.settings import Settings


def test_a_source_has_positions_of_its_own() -> None:
    (told,) = read_again({}, "c", [{"partition": {"file": "x"}, "offset": {"position": 3}}], Settings({}))
    assert told == "it would read its source from the beginning again"
