"""HTTPS and WSS, and connections that are rejected before a request is read."""

import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from certificates import EXPIRED, Certificates, certificates
from command import foreseal
from foreseal.client import Client
from foreseal.server.sockets.tls import TlsFiles
from live import LiveNode, live_node
from live.process import foreseal_command

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"})
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """Return an authority that all clients in this process trust."""
    authority = certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    return authority


@contextlib.contextmanager
def secured(tls: TlsFiles, transport: str, *arguments: str, command: str = "dev") -> Iterator[LiveNode]:
    with live_node(
        "--transport", transport, "--tls-cert", str(tls.cert), "--tls-key", str(tls.key), *arguments, command=command
    ) as node:
        yield node


def test_tls_serves_calls_streams_and_allowed_origins(transport: str, made: Certificates) -> None:
    with secured(made.issue(), transport) as node:
        assert node.url.startswith("https://127.0.0.1:")
        assert node.rpc("eth_chainId") == "0x7a69"
        with Client(node.url) as client:
            assert client.chain_id() == 31337
        with connect(node.url.replace("https", "wss")) as line:
            line.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}))
            identifier = json.loads(line.recv(30))["result"]
            assert json.loads(line.recv(30))["params"]["subscription"] == identifier
        for origin, status in (("https://localhost:3000", 204), ("https://a.example", 403)):
            lines = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            answer = node.rpc.request("OPTIONS", "/", headers=lines)
            allowed = answer.headers.get("access-control-allow-origin")
            assert (answer.status, allowed) == (status, origin if status == 204 else None)


def test_plain_http_and_old_protocols_are_rejected_immediately(transport: str, made: Certificates) -> None:
    with secured(made.issue(), transport) as node:
        where = ("127.0.0.1", urlsplit(node.url).port)
        # The server closes the connection; the client does not run into its time limit.
        plain = http.client.HTTPConnection(*where, timeout=20)
        plain.request("POST", "/", CALL, JSON)
        with pytest.raises((http.client.BadStatusLine, ConnectionError)):
            plain.getresponse()
        plain.close()
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(where, 20) as line, pytest.raises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(line)
        assert node.rpc("eth_chainId") == "0x7a69"


def test_a_client_of_tls_1_2_cannot_renegotiate(transport: str, made: Certificates) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not on the PATH: no other client renegotiates")
    with secured(made.issue(), transport) as node:
        where = f"127.0.0.1:{urlsplit(node.url).port}"
        # A line that begins with R makes openssl renegotiate.
        ended = subprocess.run(
            [openssl, "s_client", "-connect", where, "-tls1_2", "-CAfile", made.ca],
            input=b"R\n",
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert b"RENEGOTIATING" in ended.stdout + ended.stderr
        assert b"no renegotiation" in ended.stderr, ended.stderr
        assert ended.returncode != 0
        assert node.rpc("eth_chainId") == "0x7a69"


def test_client_certificate_of_the_configured_authority_is_required(
    transport: str, made: Certificates, tmp_path: Path
) -> None:
    tls, client = made.issue(), made.issue("client")
    (tmp_path / "strangers").mkdir()
    stranger = certificates(tmp_path / "strangers").issue()

    def get_status(port: int, by: TlsFiles | None) -> int:
        context = ssl.create_default_context()
        if by is not None:
            context.load_cert_chain(by.cert, by.key)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
        with contextlib.closing(connection):
            connection.request("POST", "/", CALL, JSON)
            return connection.getresponse().status

    arguments = ["dev", "--transport", transport, "--port", "0", "--tls-cert", str(tls.cert), "--tls-key", str(tls.key)]
    with listening([*arguments, "--tls-client-ca", str(made.ca)]) as port:
        assert get_status(port, client) == 200
        for by in (None, stranger):
            with pytest.raises(OSError, match=r"(?i)certificate|alert|reset|eof|broken|closed"):
                get_status(port, by)


@contextlib.contextmanager
def listening(arguments: list[str]) -> Iterator[int]:
    """Run a node without a readable `/readyz`, yield its port, and stop it at the end."""
    process = subprocess.Popen([foreseal_command(), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with process.stdout as lines:
            url_match = next(match for line in lines if (match := re.search(r"https://\S+:(\d+)", line)))
            yield int(url_match[1])
            process.terminate()
            lines.read()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def test_expired_certificate_is_logged_and_invalid_files_fail_the_start(made: Certificates, tmp_path: Path) -> None:
    late, other = made.issue(until=EXPIRED), made.issue("other")
    with listening(["dev", "--port", "0", "--tls-cert", str(late.cert), "--tls-key", str(late.key)]) as port:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20)
        with contextlib.closing(connection), pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            connection.request("POST", "/", CALL, JSON)
    for cert, key, words in (
        (other.cert, late.key, "is not the key of the certificate"),
        (tmp_path / "none.pem", late.key, "No such file or directory"),
    ):
        ended = foreseal("run", "--datadir", tmp_path / "d", "--tls-cert", cert, "--tls-key", key)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert words in ended.stderr
        assert not (tmp_path / "d").exists()
    ended = foreseal("run", "--datadir", tmp_path / "d", "--tls-cert", late.cert)
    assert (ended.returncode, "TLS needs both tls_cert and tls_key" in ended.stderr) == (2, True)
