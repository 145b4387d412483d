"""Places of the rows of a statement."""

from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.connectors.sql.scan import PLACE_TYPE
from frazil.connectors.sql.statement import PLACE
from frazil.connectors.sql.write import places_of_rows
from frazil.errors import ConfigError

PLACES = [dict.fromkeys(PLACE_TYPE.names, 1), dict.fromkeys(PLACE_TYPE.names, 2)]


def test_rows_tell_the_records_that_they_are_from() -> None:
    found = places_of_rows(pa.table({PLACE: pa.array(PLACES, PLACE_TYPE)}))
    assert found.offsets.tolist() == [1, 2]


@pytest.mark.parametrize("lost", [None, PLACES[0] | {"offset": None}])
def test_rows_without_a_record_are_refused(lost: object) -> None:
    with pytest.raises(ConfigError, match="rows with null in their column _frazil.*Nothing of the batch was stored"):
        places_of_rows(pa.table({PLACE: pa.array([PLACES[1], lost], PLACE_TYPE)}))
