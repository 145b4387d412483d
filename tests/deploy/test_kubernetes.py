"""The manifests, as kustomize builds them: valid for two versions, restricted, with what each environment has."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from scripts import chart, prometheus_rule
from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
OVERLAYS = KUBERNETES / "overlays"
VERSIONS = ("1.31", "1.36")
RESOURCES = {
    "dev": ("200m", "512Mi", "1000m", "2Gi"),
    "staging": ("750m", "1536Mi", "3000m", "6Gi"),
    "prod": ("1000m", "2Gi", "4000m", "8Gi"),
    "cdc": ("500m", "1Gi", "1000m", "2Gi"),
}
OPERATOR = "monitoring.coreos.com/v1"
CHECK_RESOURCES = """
const folder = process.argv[1];
for (const resource of JSON.parse(require("fs").readFileSync(0))) {
  const { [resource.kind]: Model } = require(`${folder}/@kubernetes-models/prometheus-operator/${resource.apiVersion}`);
  new Model(resource).validate();
  console.log(resource.kind);
}
"""


def built(overlay: str) -> list[dict[str, Any]]:
    return documents_of(OVERLAYS / overlay)


def documents_of(folder: Path) -> list[dict[str, Any]]:
    kubectl = program("kubectl", "kubernetes-client")
    made = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(made.stdout))


@pytest.fixture
def with_components(tmp_path: Path) -> list[dict[str, Any]]:
    """What an overlay of one's own on that of production makes with all components."""
    near = Path(os.path.relpath(KUBERNETES, tmp_path.resolve()))
    components = [str(near / "components" / path.name) for path in sorted((KUBERNETES / "components").iterdir())]
    overlay = {"resources": [str(near / "overlays" / "prod")], "components": components}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({**overlay, "namespace": "kafka-s3-connector"}))
    return documents_of(tmp_path)


def only(documents: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    """The one of a kind, and of a name where there are several."""
    found = [one for one in documents if one["kind"] == kind and name in ("", one["metadata"]["name"])]
    assert len(found) == 1, (kind, name)
    return found[0]


@pytest.mark.parametrize("overlay", RESOURCES)
def test_manifests_are_valid(overlay: str) -> None:
    for document in built(overlay):
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("overlay", RESOURCES)
def test_pods_are_restricted_and_get_what_their_environment_has(overlay: str) -> None:
    documents = built(overlay)
    namespace = only(documents, "Namespace")["metadata"]["name"]
    assert {document["metadata"].get("namespace", namespace) for document in documents} == {namespace}
    pod = only(documents, "Deployment")["spec"]["template"]["spec"]
    assert (
        pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    )
    assert pod["automountServiceAccountToken"] is False
    [container] = pod["containers"]
    for one in (container, *pod.get("initContainers", [])):
        rights = one["securityContext"]
        assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert one["image"] == "frazil:0.1.0"
    requests, limits = container["resources"]["requests"], container["resources"]["limits"]
    assert (requests["cpu"], requests["memory"], limits["cpu"], limits["memory"]) == RESOURCES[overlay]
    writable = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert writable == {"/var/lib/frazil", "/tmp"}  # noqa: S108 - of the container


@pytest.mark.parametrize("overlay", RESOURCES)
def test_selectors_find_the_pods(overlay: str) -> None:
    documents = built(overlay)
    labels = only(documents, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        only(documents, "Service")["spec"]["selector"],
        only(documents, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        only(documents, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        only(documents, "Deployment")["spec"]["selector"]["matchLabels"],
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)


def test_where_an_autoscaler_counts_pods_the_manifest_does_not() -> None:
    production = built("prod")
    assert "replicas" not in only(production, "Deployment")["spec"]
    assert only(production, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == "kafka-s3-connector"
    assert only(built("dev"), "Deployment")["spec"]["replicas"] == 1


def test_a_database_is_followed_by_the_names_that_its_secrets_and_its_service_have() -> None:
    documents = built("cdc")
    assert only(documents, "Namespace")["metadata"]["name"] == "cdc-project"
    service = only(documents, "Service")
    assert (service["metadata"]["name"], service["spec"]["selector"]["app"]) == ("kafka-connect", "kafka-connect")
    deployment = only(documents, "Deployment")
    assert deployment["metadata"]["name"] == "kafka-connect"
    [worker] = deployment["spec"]["template"]["spec"]["containers"]
    sources = [variable.get("valueFrom", {}) for variable in worker["env"]]
    secrets = {(found["name"], found["key"]) for source in sources if (found := source.get("secretKeyRef"))}
    assert secrets == {
        *(("aws-credentials", f"aws-{key}") for key in ("region", "access-key-id", "secret-access-key")),
        *(("rds-credentials", f"aws-rds-{key}") for key in ("endpoint", "dbname", "user", "password", "port")),
        ("s3-config", "s3-bucket-name"),
    }
    [settings] = [document for document in documents if document["metadata"]["name"] == "cdc-config"]
    assert {found["key"] for source in sources if (found := source.get("configMapKeyRef"))} == set(settings["data"])
    assert {worker[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")} == {"/"}


def test_resources_of_the_operator_are_what_it_takes(with_components: list[dict[str, Any]], packages: Path) -> None:
    resources = [document for document in with_components if document["apiVersion"] == OPERATOR]
    done = subprocess.run(
        ["node", "-e", CHECK_RESOURCES, packages],
        input=json.dumps(resources),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["PrometheusRule", "ServiceMonitor"], "")
    resources[0]["spec"]["groups"][0]["rules"][0]["expression"] = resources[0]["spec"]["groups"][0]["rules"][0].pop(
        "expr"
    )
    refused = subprocess.run(
        ["node", "-e", CHECK_RESOURCES, packages],
        input=json.dumps(resources),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "expr" in refused.stderr


def test_what_the_operator_scrapes_is_the_service_and_it_may(with_components: list[dict[str, Any]]) -> None:
    monitor = only(with_components, "ServiceMonitor")["spec"]
    service = only(with_components, "Service")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {endpoint["port"] for endpoint in monitor["endpoints"]} <= {
        port["name"] for port in service["spec"]["ports"]
    }
    allowed = only(with_components, "NetworkPolicy", "kafka-s3-connector")["spec"]["ingress"][0]["from"]
    assert {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}} in allowed


def test_rules_of_the_operator_are_those_of_prometheus() -> None:
    assert prometheus_rule.FILE.read_text() == prometheus_rule.text(), "run `make docs`"


def test_the_chart_of_helm_is_that_of_the_base() -> None:
    program("kubectl", "kubernetes-client")
    for path, text in chart.texts().items():
        assert path.read_text() == text, "run `make docs`"


def test_pods_are_counted_by_lag_beside_their_work(with_components: list[dict[str, Any]]) -> None:
    metrics = only(with_components, "HorizontalPodAutoscaler")["spec"]["metrics"]
    assert [metric["type"] for metric in metrics] == ["Resource", "External"]
    assert metrics[1]["external"]["metric"]["name"] == "frazil_consumer_lag_records"


def test_components_are_valid(with_components: list[dict[str, Any]]) -> None:
    for document in with_components:
        if document["apiVersion"] != OPERATOR:
            for version in VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)


def test_a_driver_may_start_executors_and_they_reach_it(with_components: list[dict[str, Any]]) -> None:
    pod = only(with_components, "Deployment")["spec"]["template"]["spec"]
    [binding] = [document for document in with_components if document["kind"] == "RoleBinding"]
    assert binding["roleRef"]["name"] == only(with_components, "Role")["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == [pod["serviceAccountName"]]
    assert pod["automountServiceAccountToken"]
    [volume] = [volume for volume in pod["volumes"] if volume["name"] == "spark"]
    settings = only(with_components, "ConfigMap", volume["configMap"]["name"])["data"]
    template = yaml.safe_load(settings["executor.yaml"])
    for version in VERSIONS:
        named = {"metadata": template["metadata"] | {"name": "executor"}}
        kubernetes_validate.validate(template | named, version, strict=True)
    defaults = dict(line.split() for line in settings["spark-defaults.conf"].splitlines() if not line.startswith("#"))
    [worker] = pod["containers"]
    variables = {variable["name"]: variable.get("value") for variable in worker["env"]}
    assert set(re.findall(r"\$\{env:(\w+)\}", settings["spark-defaults.conf"])) <= set(variables)
    assert {mount["name"]: mount["mountPath"] for mount in worker["volumeMounts"]}["spark"] == variables[
        "SPARK_CONF_DIR"
    ]
    assert defaults["spark.kubernetes.executor.podTemplateFile"] == f"{variables['SPARK_CONF_DIR']}/executor.yaml"
    assert defaults["spark.kubernetes.container.image"] == worker["image"]
    ports = {port["name"]: str(port["containerPort"]) for port in worker["ports"]}
    assert (ports["driver"], ports["blocks"]) == (
        defaults["spark.driver.port"],
        defaults["spark.driver.blockManager.port"],
    )
    from_executors = only(with_components, "NetworkPolicy", "kafka-s3-connector")["spec"]["ingress"][-1]
    assert {port["port"] for port in from_executors["ports"]} == {"driver", "blocks"}
    of_executors = only(with_components, "NetworkPolicy", "kafka-s3-connector-executors")["spec"]
    assert [str(port["port"]) for port in of_executors["ingress"][0]["ports"]] == [defaults["spark.blockManager.port"]]


def test_an_application_of_the_spark_operator_is_what_it_takes_and_what_services_find() -> None:
    documents = built("spark-operator")
    application = only(documents, "SparkApplication")
    read = SparkV1beta2SparkApplication.from_dict(application)
    assert read is not None and read.to_dict() == application
    assert not [one for one in documents if one["kind"] in ("Deployment", "PodDisruptionBudget")]
    spec = application["spec"]
    driver, executor = (spec[role]["template"] for role in ("driver", "executor"))
    assert only(documents, "Service")["spec"]["selector"].items() <= driver["metadata"]["labels"].items()
    assert spec["mainApplicationFile"].endswith("/site-packages/frazil/__main__.py")
    assert (
        f"lib/{spec['mainApplicationFile'].split('/')[-4]}/site-packages"
        in (ROOT / "deploy" / "Dockerfile").read_text()
    )
    assert spec["driver"]["serviceAccount"] == only(documents, "RoleBinding")["subjects"][0]["name"]
    for template in (driver, executor):
        [container] = template["spec"]["containers"]
        assert template["spec"]["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["command"][-1] == "frazil.engine.pod"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **template}
        for version in VERSIONS:
            kubernetes_validate.validate(pod | {"metadata": {"name": "a"}}, version, strict=True)
