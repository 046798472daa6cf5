"""TLS through the workers of a node."""

import signal
import ssl
from pathlib import Path

from certificates import certificates
from live.blocks import wait_for
from supervisor.processes import SECONDS, running


def test_replaced_workers_serve_the_renewed_certificate(tmp_path: Path) -> None:
    made = certificates(tmp_path)
    tls = made.issue()
    with running(tmp_path / "data", tls=tls) as group:

        def served() -> str:
            return ssl.get_server_certificate(("127.0.0.1", group.port), timeout=SECONDS)

        first = served()
        assert first in tls.cert.read_text()
        made.issue()
        group.process.send_signal(signal.SIGHUP)
        group.wait_for_log("process ready", group.workers + 3)
        # A worker that is being replaced may accept connections until it has left.
        wait_for(lambda: {served() for _ in range(8)} == {_leaf(tls.cert)}, SECONDS, "the new certificate alone")
        assert _leaf(tls.cert) != first
        assert group.end() == 0


def _leaf(path: Path) -> str:
    end = "-----END CERTIFICATE-----\n"
    return path.read_text().partition(end)[0] + end
