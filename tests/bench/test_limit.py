from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bench.limit import Reader, measure, parser, run
from bench.load import fixed_records


@pytest.mark.parametrize("reader", ["arrow-json", "decoder"])
def test_every_record_is_written(reader: Reader, tmp_path: Path) -> None:
    values = list(fixed_records("api", 300))
    path = tmp_path / "out.parquet"
    limit = run(values, parser("api", reader), path, "title")
    table = pq.read_table(path)
    assert limit.records == table.num_rows == 300
    assert table.column("time").null_count == 0
    assert limit.parse_cpu_s > 0
    assert limit.write_cpu_s > 0


def test_a_process_of_its_own_measures_audit_records_that_arrow_json_can_read(tmp_path: Path) -> None:
    limit = measure("audit", 100, "arrow-json", tmp_path)
    assert limit.records == 100
    assert limit.per_cpu_s > 0
    assert list(tmp_path.iterdir()) == []
