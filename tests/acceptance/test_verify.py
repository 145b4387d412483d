"""Tables compared with their topics by `verify`."""

from __future__ import annotations

import pytest

from tests.acceptance.verified import verified
from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = pytest.mark.spark


def test_rows_that_are_lost_and_rows_that_are_twice(worker: Worker, pipe: Pipe) -> None:
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
    worker.client.put_config(pipe.connector, pipe.config() | tolerant)
    pipe.send([event(n) for n in range(20)] + [b"{", None])
    eventually(lambda: pipe.lag() == 0 and len(pipe.ids()) == 20)
    code, (check,) = verified(worker.settings, pipe.connector)
    assert (code, check["read"], check["stored"], check["dead"], check["skipped"]) == (0, 22, 20, 1, 1)
    assert check["expected_sum"] == check["stored_sum"]
    table = pipe.table()
    table.delete("id = 7 or id = 8")
    table.append(table.scan(row_filter="id = 3").to_arrow())
    code, (check,) = verified(worker.settings, pipe.connector)
    assert (code, len(check["missing"]), len(check["doubled"]), check["foreign"]) == (1, 2, 1, 0)
    assert check["expected_sum"] != check["stored_sum"]
    row = table.scan(row_filter="id = 5").to_arrow()
    table.append(row.set_column(0, "id", [[99]]).cast(row.schema))
    _, (check,) = verified(worker.settings, pipe.connector)
    assert check["foreign"] == 1
