"""The manifests, as kustomize builds them: valid for two versions, restricted, with what each environment has."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
OVERLAYS = ROOT / "deploy" / "kubernetes" / "overlays"
VERSIONS = ("1.31", "1.36")
RESOURCES = {
    "dev": ("200m", "512Mi", "1000m", "2Gi"),
    "staging": ("750m", "1536Mi", "3000m", "6Gi"),
    "prod": ("1000m", "2Gi", "4000m", "8Gi"),
}


def built(overlay: str) -> list[dict[str, Any]]:
    kubectl = program("kubectl", "kubernetes-client")
    made = subprocess.run([kubectl, "kustomize", OVERLAYS / overlay], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(made.stdout))


def only(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [document for document in documents if document["kind"] == kind]
    return found


@pytest.mark.parametrize("overlay", RESOURCES)
def test_manifests_are_valid(overlay: str) -> None:
    for document in built(overlay):
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("overlay", RESOURCES)
def test_pods_are_restricted_and_get_what_their_environment_has(overlay: str) -> None:
    documents = built(overlay)
    assert {document["metadata"].get("namespace", "kafka-s3-connector") for document in documents} == {
        "kafka-s3-connector"
    }
    pod = only(documents, "Deployment")["spec"]["template"]["spec"]
    assert (
        pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    )
    assert pod["automountServiceAccountToken"] is False
    [container] = pod["containers"]
    rights = container["securityContext"]
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
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
