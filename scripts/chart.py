"""Makes the Helm chart from what Kustomize builds of `deploy/kubernetes/base`; `make docs` runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from frazil.connectors.keys.versions import VERSION

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm"
_NOTE = "# Made by `make docs` from deploy/kubernetes/base.\n"
_BLOCKS = {"data": ("variables", 2), "resources": ("resources", 10)}
"""Keys of the manifests with the values that take their place, and how far these are indented."""


def texts() -> dict[Path, str]:
    """Text of each file of the chart."""
    kubectl = _told(ROOT / "scripts" / "debian.sh", "kubectl", "kubernetes-client").strip()
    built = _told(kubectl, "kustomize", ROOT / "deploy" / "kubernetes" / "base")
    documents = [one for one in yaml.safe_load_all(built) if one["kind"] != "Namespace"]
    values: dict[str, Any] = {}
    for one in documents:
        del one["metadata"]["namespace"]  # Helm's to choose
        if one["kind"] == "ConfigMap":
            values["variables"], one["data"] = one["data"], None
        elif one["kind"] == "Deployment":
            values |= _taken(one["spec"])
    about = {
        "apiVersion": "v2",
        "name": "frazil",
        "description": "Streams into lakehouse tables: a group of workers",
        "version": VERSION,
        "appVersion": VERSION,
    }
    templates = "---\n".join(_dumped(one) for one in documents)
    for key, (value, indent) in _BLOCKS.items():
        block = f"{key}:\n{' ' * indent}{{{{- toYaml .Values.{value} | nindent {indent} }}}}\n"
        templates = templates.replace(f"{key}: null\n", block)
    return {
        CHART / "Chart.yaml": _NOTE + _dumped(about),
        CHART / "values.yaml": _NOTE + _dumped(values),
        CHART / "templates" / "workers.yaml": _NOTE + templates,
    }


def _told(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def _taken(spec: dict[str, Any]) -> dict[str, Any]:
    """The values of a Deployment, whose places are templates then."""
    [container] = spec["template"]["spec"]["containers"]
    sources = [variable["valueFrom"] for variable in container["env"]]
    secrets = [source["secretKeyRef"] for source in sources if "secretKeyRef" in source]
    values = {
        "replicas": spec["replicas"],
        "image": container["image"],
        "secret": secrets[0]["name"],
        "resources": container["resources"],
    }
    spec["replicas"], container["image"], container["resources"] = "{{ .Values.replicas }}", "{{ .Values.image }}", None
    for secret in secrets:
        secret["name"] = "{{ .Values.secret }}"
    return values


def _dumped(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False).replace("'{{", "{{").replace("}}'", "}}")


if __name__ == "__main__":
    for path, text in texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
