"""Makes `deploy/nginx/` from the configuration of the embedded stores; `make docs` writes it."""

from __future__ import annotations

from pathlib import Path

from frazil.stack.nginx import configuration

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "nginx"
_BEFORE = {"source": "the source cluster", "dest": "the destination cluster, with its Iceberg catalog under /_iceberg"}


def texts() -> dict[Path, str]:
    """Text of each file, for four nodes of MinIO."""
    made = {}
    for role, before in _BEFORE.items():
        nodes = [f"minio-{role}{number}" for number in range(1, 5)]
        servers = configuration(role, {"s3": ("9000", [f"{n}:9000" for n in nodes])}, [f"{n}:9001" for n in nodes])
        told = f"# Before {before}: S3 on 9000, its console on 9001. Mounted as /etc/nginx/conf.d/default.conf.\n"
        made[FOLDER / f"{role}.conf"] = f"{told}# Made by `make docs`.{servers}"
    return made


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
