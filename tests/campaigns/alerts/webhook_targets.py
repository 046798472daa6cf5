"""Targets of webhooks that accept no event."""

import contextlib
import http.server
from collections.abc import Iterator
from pathlib import Path

from http_thread import QuietHandler, running_server


@contextlib.contextmanager
def gone_target(folder: Path) -> Iterator[str]:
    """Run a target that answers 410, and yield its section of `pay.toml`."""
    with _targets(folder, 410, 1) as sections:
        yield sections


@contextlib.contextmanager
def unavailable_targets(folder: Path, count: int) -> Iterator[str]:
    """Run targets that answer 503, and yield their sections of `pay.toml`."""
    with _targets(folder, 503, count) as sections:
        yield sections


@contextlib.contextmanager
def _targets(folder: Path, status: int, count: int) -> Iterator[str]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.read_body()
            self.respond(status)

    secret = folder / "webhook.secret"
    secret.write_text("whsec_" + "A" * 43 + "=")
    secret.chmod(0o600)
    with running_server(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as base:
        more = f'secret_file = "{secret}"\nallow_private = true\n'
        yield "".join(f'[[webhooks]]\nurl = "{base}/hooks/{number}"\n{more}' for number in range(count))
