"""A target of webhooks that rejects every event for ever."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class _GoneHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(410)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def gone_target(folder: Path) -> Iterator[str]:
    """Run a target that answers 410, and yield its section of `pay.toml`."""
    secret = folder / "webhook.secret"
    secret.write_text("whsec_" + "A" * 43 + "=")
    secret.chmod(0o600)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _GoneHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/hooks"
            yield f'[[webhooks]]\nurl = "{url}"\nsecret_file = "{secret}"\nallow_private = true\n'
        finally:
            server.shutdown()
            thread.join()
