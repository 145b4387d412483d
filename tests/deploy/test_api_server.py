"""The manifests before a real API server of Kubernetes, where `kube-apiserver` and `etcd` are in KUBEBUILDER_ASSETS."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from frazil.stack.ports import unused
from tests.deploy.test_kubernetes import OVERLAYS, RESOURCES
from tests.programs import program
from tests.waits import PATIENCE_S, eventually

Kubectl = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif("KUBEBUILDER_ASSETS" not in os.environ, reason="KUBEBUILDER_ASSETS is not set")


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Runs kubectl as an administrator of an API server with no nodes."""
    folder, programs = tmp_path_factory.mktemp("kubernetes"), Path(os.environ["KUBEBUILDER_ASSETS"])
    clients, peers, port = unused(3)
    store = f"http://127.0.0.1:{clients}"
    subprocess.run(["openssl", "genrsa", "-out", folder / "key", "2048"], check=True, capture_output=True)
    (folder / "tokens").write_text("token,admin,1,system:masters\n")
    etcd = [str(programs / "etcd"), f"--data-dir={folder}/etcd", "--listen-peer-urls", f"http://127.0.0.1:{peers}"]
    etcd += ["--listen-client-urls", store, "--advertise-client-urls", store]
    server = [
        str(programs / "kube-apiserver"),
        f"--etcd-servers={store}",
        f"--cert-dir={folder}",
        f"--secure-port={port}",
    ]
    server += ["--bind-address=127.0.0.1", "--authorization-mode=RBAC", f"--token-auth-file={folder}/tokens"]
    server += [f"--service-account-{what}-file={folder}/key" for what in ("key", "signing-key")]
    server += ["--service-account-issuer=https://tests", "--service-cluster-ip-range=10.0.0.0/24"]
    access = [f"--server=https://127.0.0.1:{port}", "--insecure-skip-tls-verify", "--token=token"]
    command = [program("kubectl", "kubernetes-client"), *access]

    def run(*arguments: str | Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *arguments], input=given, capture_output=True, text=True, check=False)

    with ExitStack() as running:
        for part in (etcd, server):
            log = running.enter_context((folder / f"{Path(part[0]).name}.log").open("wb"))
            process = running.enter_context(subprocess.Popen(part, stdout=log, stderr=log))
            running.callback(process.terminate)
        eventually(lambda: run("get", "--raw", "/readyz").stdout == "ok", PATIENCE_S)
        yield run


@pytest.mark.parametrize("overlay", RESOURCES)
def test_what_was_applied_does_not_differ_and_its_pods_are_let_in(kubectl: Kubectl, overlay: str) -> None:
    folder = OVERLAYS / overlay
    for more in ((), ("--server-side", "--force-conflicts")):
        applied = kubectl("apply", "-k", folder, *more)
        assert applied.returncode == 0, applied.stderr
        differing = kubectl("diff", "-k", folder, *more)
        assert (differing.returncode, differing.stdout) == (0, "")
    deployments = json.loads(kubectl("get", "-k", folder, "-o", "json").stdout)["items"]
    [made] = [one for one in deployments if one["kind"] == "Deployment"]
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **made["spec"]["template"]}
    pod["metadata"] |= {"name": "worker", "namespace": made["metadata"]["namespace"]}
    created = kubectl("create", "--dry-run=server", "-f", "-", given=json.dumps(pod))
    assert created.returncode == 0, created.stderr
    del pod["spec"]["securityContext"]
    refused = kubectl("create", "--dry-run=server", "-f", "-", given=json.dumps(pod))
    assert 'violates PodSecurity "restricted' in refused.stderr
