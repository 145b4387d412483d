#!/usr/bin/env bash
# spark-submit.sh MASTER [OPTION …]: one worker as a driver in a pod that Spark's own cluster mode makes, as k8s://HOST:PORT;
# options are spark-submit's. Takes kubectl and a frazil beside it, and what `kubectl apply -k` of the overlay
# spark-operator makes but the SparkApplication, whose settings and pod templates these are.
set -euo pipefail
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$here/../../.venv/bin/python}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" - "$here/overlays/spark-operator/sparkapplication.yaml" "$folder" <<'END'
import sys
from pathlib import Path

import yaml

spec = yaml.safe_load(Path(sys.argv[1]).read_text())["spec"]
folder, dynamic = Path(sys.argv[2]), spec["dynamicAllocation"]
settings = spec["sparkConf"] | {
    "spark.kubernetes.container.image": spec["image"],
    "spark.kubernetes.authenticate.driver.serviceAccountName": spec["driver"]["serviceAccount"],
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": dynamic["minExecutors"],
    "spark.dynamicAllocation.maxExecutors": dynamic["maxExecutors"],
}
for role in ("driver", "executor"):
    one = spec[role]
    template = {"apiVersion": "v1", "kind": "Pod", **one["template"]}
    (folder / f"{role}.yaml").write_text(yaml.safe_dump(template))
    settings |= {
        f"spark.kubernetes.{role}.podTemplateFile": folder / f"{role}.yaml",
        f"spark.kubernetes.{role}.podTemplateContainerName": template["spec"]["containers"][0]["name"],
        f"spark.{role}.cores": one["cores"],
        f"spark.{role}.memory": one["memory"],
        f"spark.{role}.memoryOverhead": one["memoryOverhead"],
    }
(folder / "spark.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
END
master=$1
shift
SPARK_HOME=$("$python" -c 'import pyspark; print(pyspark.__path__[0])')
JAVA_HOME=$("$python" -c 'import os; from frazil.stack.java import find_java; print(find_java(os.environ).parent.parent)')
export SPARK_HOME JAVA_HOME
"$SPARK_HOME/bin/spark-submit" --master "$master" --deploy-mode cluster --name kafka-s3-connector \
  --properties-file "$folder/spark.conf" --conf spark.kubernetes.namespace=kafka-s3-connector \
  --conf spark.kubernetes.submission.waitAppCompletion=false "$@" local:///opt/frazil/.venv/lib/python3.11/site-packages/frazil/__main__.py worker
