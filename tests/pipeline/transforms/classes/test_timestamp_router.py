from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import StageError
from tests.pipeline.transforms.chains import applied, chain


def test_a_topic_is_renamed() -> None:
    made = applied(chain(("TimestampRouter", {})), b"{}")
    assert made is not None and made.topic == "t-20231114"

    keys = {"topic.format": "${timestamp}/${topic}", "timestamp.format": "yyyy/MM"}
    made = applied(chain(("TimestampRouter", keys)), b"{}")
    assert made is not None and made.topic == "2023/11/t"


def test_a_timestamp_out_of_the_calendar_is_an_error() -> None:
    with pytest.raises(StageError, match="the record's timestamp 999999999999999: the time is outside"):
        applied(chain(("TimestampRouter", {})), b"{}", timestamp=999_999_999_999_999)
