"""Orders per minute: from the topic `orders` into the table `streaming.orders_per_minute`."""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import window

import frazil

COLUMNS = "id BIGINT NOT NULL, price DOUBLE"

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
spark.dataSource.register(frazil.RecordSource)
counted = frazil.open(
    {
        "connector.class": "SqlSink",
        "topics": "orders",
        "frazil.sql.schema": COLUMNS,
        "frazil.sql": "SELECT id FROM orders",
        "iceberg.tables": "streaming.orders_per_minute",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.upsert-mode-enabled": "true",
        "iceberg.tables.default-id-columns": "minute",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    },
    name="orders-per-minute",
)
orders = spark.readStream.format("frazil").option("topic", "orders").option("schema", COLUMNS)
arrived = orders.option("errors.tolerance", "all").load().withWatermark("_timestamp", "10 seconds")
minutes = arrived.groupBy(window("_timestamp", "1 minute")).count().selectExpr("window.start AS minute", "count AS n")
stream = minutes.writeStream.outputMode("update").option("checkpointLocation", "orders-per-minute-checkpoint")
query = stream.foreachBatch(counted.store).start()
query.processAllAvailable()
query.stop()
print(frazil.query("SELECT sum(n) AS orders FROM orders_per_minute").rows())
spark.stop()
