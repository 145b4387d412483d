import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import DecimalType


@arrow_udf(DecimalType(12, 2))
def with_tax(total: pa.Array, country: pa.Array) -> pa.Array:
    reduced = pc.is_in(country, pa.array(["DE", "FR"]))
    percent = pc.if_else(reduced, pa.scalar(107, pa.int64()), pa.scalar(119, pa.int64()))
    return pc.divide(pc.multiply(total, percent), 100).cast(pa.decimal128(12, 2), safe=False)
