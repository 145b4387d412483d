"""Makes the PrometheusRule of the Prometheus operator from `deploy/prometheus/rules.yml`; `make docs` writes it."""

from __future__ import annotations

from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
FILE = DEPLOY / "kubernetes" / "components" / "monitoring" / "prometheusrule.yaml"


def text() -> str:
    """The custom resource with the groups of rules."""
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "kafka-s3-connector"},
        "spec": rules,
    }
    return "# Made by `make docs` from deploy/prometheus/rules.yml.\n" + yaml.safe_dump(
        resource, sort_keys=False, width=120, allow_unicode=True
    )


if __name__ == "__main__":
    FILE.write_text(text())
