"""Plain Spark for `bench.sql`, a process of its own: Kafka source, `from_json`, a statement, Iceberg.

It says `ready` on standard output when its session is up, and begins at a line on standard input.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from frazil.connectors.iceberg.spark.runtime import quoted, spark_properties
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.jars import ICEBERG_SPARK, JarSet, resolve
from frazil.stack.java import find_java

KAFKA_SOURCE = JarSet("spark-kafka")
_CATALOG = "bench"


def _main(query: dict[str, str]) -> None:
    settings = Settings.load(os.environ)
    java = find_java(settings.env)
    os.environ["JAVA_HOME"] = str(java.parent.parent)
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK

    def progress(text: str) -> None:
        print(text, file=sys.stderr)

    jars = [
        str(jar)
        for jar_set in (ICEBERG_SPARK, KAFKA_SOURCE)
        for jar in resolve(jar_set, java, settings.cache, progress, settings.env)
    ]
    prefix = f"spark.sql.catalog.{_CATALOG}"
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", settings.spark_memory)
        .config("spark.jars", ",".join(jars))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", f"{query['home']}/local")
        .config("spark.sql.warehouse.dir", f"{query['home']}/warehouse")
        .config(prefix, "org.apache.iceberg.spark.SparkCatalog")
        .config(map={f"{prefix}.{k}": v for k, v in spark_properties(settings.catalog_properties()).items()})
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("WARN")
    session.sql(f"SELECT * FROM {quoted(_CATALOG, query['table'])}").schema  # noqa: B018 - opens the catalog
    print("ready", flush=True)
    sys.stdin.readline()
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", query["bootstrap"])
        .option("subscribe", query["topic"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", query["batch"])
        .load()
        .select(from_json(col("value").cast("string"), query["columns"]).alias("record"))
        .select("record.*")
    )
    records.createOrReplaceTempView("records")
    (
        session.sql(query["sql"])
        .writeStream.format("iceberg")
        .outputMode("append")
        .trigger(availableNow=True)
        .option("checkpointLocation", query["checkpoint"])
        .toTable(quoted(_CATALOG, query["table"]))
        .awaitTermination()
    )
    sys.stdin.readline()
    session.stop()


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
