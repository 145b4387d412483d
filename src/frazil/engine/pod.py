"""The process of a driver or an executor in a pod: `python -m frazil.engine.pod`, as pod templates name it.

Spark tells which, and all that it needs, in arguments and variables of the pod, as it does to its own image.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence

from frazil.errors import UsageError
from frazil.stack.ivy import PYSPARK_JARS
from frazil.stack.java import find_java

_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_([0-9]+)")
_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_EXECUTOR = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def command(arguments: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Command of the pod's JVM. Raises UsageError, JavaNotFound, or KeyError outside of a pod that Spark has made."""
    match arguments:
        case ["executor"]:
            return _executor(env)
        case ["driver", *rest]:
            return _driver(rest, env)
    raise UsageError(f"{' '.join(arguments)}: expected what Spark asks of a pod, driver or executor")


def _executor(env: Mapping[str, str]) -> list[str]:
    options = {int(found[1]): env[name] for name in env if (found := _JAVA_OPTION.fullmatch(name))}
    memory = env["SPARK_EXECUTOR_MEMORY"]
    return [
        str(find_java(env)),
        *(options[number] for number in sorted(options)),
        *(f"-Xms{memory}", f"-Xmx{memory}"),
        *("-cp", f"{env.get('SPARK_CONF_DIR', '')}:{PYSPARK_JARS}/*"),
        _BACKEND,
        *(word for option, name in _EXECUTOR.items() for word in (option, env[name])),
    ]


def _driver(arguments: Sequence[str], env: Mapping[str, str]) -> list[str]:
    bound = f"spark.driver.bindAddress={env['SPARK_DRIVER_BIND_ADDRESS']}"
    submit = PYSPARK_JARS.parent / "bin" / "spark-submit"
    return [str(submit), "--deploy-mode", "client", "--conf", bound, *arguments]


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that Spark's scripts look for."""
    java_home = find_java(env).parent.parent
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    return {**env, **python, "JAVA_HOME": str(java_home), "SPARK_HOME": str(PYSPARK_JARS.parent)}


if __name__ == "__main__":
    line = command(sys.argv[1:], os.environ)
    os.execve(line[0], line, _environment(os.environ))  # noqa: S606
