"""nginx with the configuration of docs/operate/transports.md in front of a node."""

import contextlib
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from foreseal.ports import next_free_port
from live_node import wait_until
from repository import DOCS

_PAGE = DOCS / "operate" / "transports.md"
_DRIVER = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""


def documented() -> str:
    """Return the configuration of the page."""
    (found,) = re.findall(r"```nginx\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    return str(found)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def nginx(url: str, folder: Path) -> Iterator[int]:
    """Run nginx in front of the node at `url` and yield its port.

    It has the documented configuration without TLS. Skips the test without nginx.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed: the configuration in docs/operate/transports.md is not tested")
    port = next_free_port()
    server = documented()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("http://127.0.0.1:8545", f"http://127.0.0.1:{urlsplit(url).port}"),
    ):
        assert server.count(old) == 1, old
        server = server.replace(old, new)
    config = folder / "nginx.conf"
    config.write_text(_DRIVER.format(folder=folder, server=server))
    command = [program, "-e", str(folder / "error.log"), "-c", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: process.poll() is not None or _answers(port))
        assert process.poll() is None, process.stdout.read() if process.stdout else b""
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=20)
