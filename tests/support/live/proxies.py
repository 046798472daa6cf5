"""HAProxy and nginx in front of nodes, with the configurations of `deploy` and of the documentation, without TLS."""

import contextlib
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from foreseal.cluster.launched_process import LaunchedProcess, wait_until
from repository import DOCS, ROOT

_HAPROXY = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
_NGINX = ROOT / "deploy" / "nginx" / "foreseal-cluster.conf"
_NGINX_PAGE = DOCS / "operate" / "transports.md"
_SBIN = "/usr/sbin:/usr/local/sbin"
_START_TIMEOUT = 30.0
# Lines of the nodes, one after the other.
_NODES = re.compile(r"^(.*)\b10\.0\.0\.1:8545(.*)\n(?:.*\b10\.0\.0\.\d:8545.*\n)*", re.MULTILINE)
_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def find_program(name: str) -> str | None:
    """Return the path of a program that only root may have on the PATH; None if it is not installed."""
    return shutil.which(name) or shutil.which(name, path=_SBIN)


def require_program(name: str) -> str:
    """Return the path of such a program. Skips the test if it is not installed."""
    return find_program(name) or pytest.skip(f"{name} is not installed")


def describe_haproxy(program: str, folder: Path, port: int, ports: Sequence[int]) -> LaunchedProcess:
    """Describe HAProxy as deployed, which forwards `port` to `ports`. Raises ValueError."""
    file = folder / "haproxy.cfg"
    file.write_text(_replace(set_nodes(_HAPROXY.read_text(), ports), r"bind :443 .*", f"bind 127.0.0.1:{port}"))
    return LaunchedProcess("haproxy", (program, "-db", "-f", str(file)), folder / "haproxy.txt")


def describe_nginx(program: str, folder: Path, port: int, ports: Sequence[int]) -> LaunchedProcess:
    """Describe nginx as deployed, which forwards `port` to `ports`. Raises ValueError."""
    return _nginx(program, folder, port, set_nodes(_NGINX.read_text(), ports))


def describe_documented_nginx(program: str, folder: Path, port: int, node: int) -> LaunchedProcess:
    """Describe nginx as in docs/operate/transports.md, which forwards `port` to that of a node. Raises ValueError."""
    (text,) = re.findall(r"```nginx\n(.*?)```", _NGINX_PAGE.read_text(), re.DOTALL)
    return _nginx(program, folder, port, _replace(text, r"127\.0\.0\.1:8545", f"127.0.0.1:{node}"))


@contextlib.contextmanager
def running_proxy(proxy: LaunchedProcess, port: int) -> Iterator[None]:
    """Run a proxy that listens on `port`. Raises NodeError."""
    try:
        proxy.start()
        wait_until(lambda: _is_listening(port), [proxy], _START_TIMEOUT)
        yield
    finally:
        proxy.stop()


def set_nodes(text: str, ports: Sequence[int]) -> str:
    """Replace the nodes 10.0.0.1, 10.0.0.2 and so on by those at `ports` on loopback. Raises ValueError."""

    def lines(match: re.Match[str]) -> str:
        return "".join(
            f"{match[1].replace('node-1', f'node-{number}')}127.0.0.1:{port}{match[2]}\n"
            for number, port in enumerate(ports, 1)
        )

    text, groups = _NODES.subn(lines, text)
    if not groups:
        raise ValueError("the configuration has no node 10.0.0.1:8545")
    return text


def _nginx(program: str, folder: Path, port: int, http: str) -> LaunchedProcess:
    http = re.sub(r" *ssl_certificate.*\n", "", _replace(http, r"listen 443 ssl;", f"listen 127.0.0.1:{port};"))
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in _PATHS)
    head = f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr; events {{}}\n"
    file = folder / "nginx.conf"
    file.write_text(f"{head}http {{ access_log off; {paths}\n{http}\n}}\n")
    return LaunchedProcess("nginx", (program, "-e", "stderr", "-c", str(file)), folder / "nginx.txt")


def _replace(text: str, pattern: str, replacement: str) -> str:
    text, count = re.subn(pattern, replacement, text)
    if count != 1:
        raise ValueError(f"the configuration has {pattern!r} {count} times, not once")
    return text


def _is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
