from __future__ import annotations

import subprocess
from pathlib import Path

from frazil.stack.nginx import configuration, whole
from frazil.stack.ports import unused
from tests.programs import program


def test_a_home_with_any_name_is_fine(tmp_path: Path) -> None:
    folder = tmp_path / 'a "home"; $HOME {\\}'
    folder.mkdir()
    first, second = unused(2)
    servers = configuration("dest", {"s3": (f"127.0.0.1:{first}", [f"127.0.0.1:{second}"])})
    file = tmp_path / "nginx.conf"
    file.write_text(whole(folder, servers))
    command = [program("nginx", "nginx"), "-t", "-c", str(file), "-e", "stderr"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
