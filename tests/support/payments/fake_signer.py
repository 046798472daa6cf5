"""A small web3signer: `eth1/sign` for one key."""

import http.server
import ssl
import threading
from types import TracebackType
from typing import Any, Self

import orjson
from eth_account.signers.local import LocalAccount
from eth_keys.datatypes import PrivateKey

from foreseal.codec import keccak


class FakeSigner(http.server.ThreadingHTTPServer):
    """The signer on a free port; its answer can be replaced, and it can hang."""

    daemon_threads = True

    def __init__(self, account: LocalAccount, tls: ssl.SSLContext | None = None) -> None:
        self.key = PrivateKey(bytes(account.key))
        self.public_key = self.key.public_key.to_bytes()
        self.status = 200
        self.answer: str | None = None
        """Body of the responses, if it is not the signature."""
        self.parity_only = False
        """True if v is 0 or 1, not 27 or 28."""
        self.released = threading.Event()
        self.released.set()
        self.requests = 0
        signer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
                signer.requests += 1
                signer.released.wait(60)
                status, text = signer.respond(self.path, body)
                self.send_response(status)
                self.send_header("content-type", "text/plain; charset=utf-8")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def respond(self, path: str, body: Any) -> tuple[int, str]:
        if path != f"/api/v1/eth1/sign/0x{self.public_key.hex()}":
            return 404, "no such key"
        if self.status != 200 or self.answer is not None:
            return self.status, self.answer or ""
        signature = self.key.sign_msg_hash(keccak(bytes.fromhex(body["data"][2:])))
        v = signature.v + (0 if self.parity_only else 27)
        return 200, f"0x{signature.r:064x}{signature.s:064x}{v:02x}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the broken connection of a client that did not wait."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
