"""HAProxy with the configuration of `deploy`, on loopback and without TLS."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from foreseal.cluster.launched_process import LaunchedProcess
from repository import ROOT

_CONFIGURATION = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
_SERVER = re.compile(r"^    server node-1(\S*) 10\.0\.0\.1:8545(.*)\n(?:    server node-\d\S* .*\n)+", re.MULTILINE)
_BIND = re.compile(r"bind :443 .*")


def find_haproxy() -> str | None:
    """Return the path of HAProxy; None if it is not installed."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")


def render_configuration(text: str, port: int, ports: Sequence[int]) -> str:
    """Return a configuration that listens on `port` and forwards to `ports`, on loopback. Raises ValueError."""

    def servers(found: re.Match[str]) -> str:
        lines = (f"    server node-{n}{found[1]} 127.0.0.1:{each}{found[2]}\n" for n, each in enumerate(ports, 1))
        return "".join(lines)

    text, blocks = _SERVER.subn(servers, text)
    text, binds = _BIND.subn(f"bind 127.0.0.1:{port}", text)
    if not blocks or binds != 1:
        raise ValueError("the configuration has no servers node-1, node-2 and so on, or not one port 443")
    return text


def describe_haproxy(program: str, folder: Path, port: int, ports: Sequence[int]) -> LaunchedProcess:
    """Write and check the configuration, and describe the process. Raises ValueError."""
    file = folder / "haproxy.cfg"
    file.write_text(render_configuration(_CONFIGURATION.read_text(), port, ports))
    subprocess.run((program, "-c", "-f", str(file)), check=True, capture_output=True)
    return LaunchedProcess("haproxy", (program, "-db", "-f", str(file)), folder / "haproxy.txt")
