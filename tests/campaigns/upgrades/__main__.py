"""Upgrade the database of an earlier release while clients pay: nothing is lost, doubled or forgotten.

The earlier release serves its database, and clients create, sign and capture orders. The process is stopped in the
middle, `foreseal pay db upgrade` runs, and this release continues. The clients repeat what got no answer, with the same
Idempotency-Key. At the end, the export is what the chain has. Both releases must refuse the other's schema.

`PYTHONPATH=tests/support:tests/campaigns python -m upgrades --old OLD/.venv/bin/foreseal` runs it.
"""

import argparse
import contextlib
import csv
import io
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from foreseal.ports import next_free_port
from live.blocks import wait_for
from live.process import LiveNode, Served, foreseal_command, stopping
from live.rpc import Rpc
from payments.api.serving import BUYERS, MERCHANT, configure, signature
from reconcile.__main__ import database
from reconcile.scan import scan

_SECONDS = 120.0
_UNFINISHED = ("intended", "broadcast", "unknown")


class Release(Served):
    """A running `foreseal pay serve` of one release."""

    READY = "/v1/openapi.json"

    def __init__(self, program: str, config: Path) -> None:
        # The programs of two releases must not import each other's sources.
        command = ["env", "--unset=PYTHONPATH", program] if program != foreseal_command() else [program]
        super().__init__([*command, "pay", "serve", "--config", str(config)])


def run(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `foreseal pay` of a release."""
    environment = dict(os.environ)
    if program != foreseal_command():
        environment.pop("PYTHONPATH", None)
    return subprocess.run([program, "pay", *arguments], capture_output=True, text=True, env=environment, check=False)


@dataclass
class Clients:
    """Threads that pay, also while the service is down."""

    url: str
    key: str
    count: int
    paid: list[int] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    repeated: int = 0

    def start(self, threads: int) -> list[threading.Thread]:
        """Start the threads."""
        lock, numbers = threading.Lock(), iter(range(self.count))

        def work() -> None:
            with httpx.Client(base_url=self.url, timeout=60) as client:
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    try:
                        self._pay(client, number)
                    except AssertionError as error:
                        self.rejected.append(str(error))
                    else:
                        self.paid.append(number)

        found = [threading.Thread(target=work) for _ in range(threads)]
        for each in found:
            each.start()
        return found

    def _pay(self, client: httpx.Client, number: int) -> None:
        id, buyer = f"o{number}", BUYERS[number % len(BUYERS)]
        order = {"id": id, "payer": buyer.address, "amount": str(1_000 + number)}
        made = self._post(client, "/v1/orders", order, f"create {id}")
        body = {"signature": signature(buyer, made["typed_data"])}
        self._post(client, f"/v1/orders/{id}/signature", body, f"sign {id}")
        self._post(client, f"/v1/orders/{id}/capture", {}, f"capture {id}")

    def _post(self, client: httpx.Client, path: str, body: Any, key: str) -> Any:
        """Send a request until it has an answer; the key stays the same."""
        headers = {"authorization": f"Bearer {self.key}", "idempotency-key": key}
        while True:
            with contextlib.suppress(httpx.TransportError):
                response = client.post(path, json=body, headers=headers)
                if response.status_code in (200, 201):
                    return response.json()
                code = response.json()["error"]["code"]
                assert response.status_code == 503 or code == "in_progress", f"{key}: {response.text}"
            self.repeated += 1
            time.sleep(0.2)


def upgrade(old: str, kind: str, count: int, how: signal.Signals) -> None:
    """Run the campaign on one database."""
    with tempfile.TemporaryDirectory(prefix="foreseal-") as name, contextlib.ExitStack() as stack:
        url = stack.enter_context(database(Path(name), postgresql=kind == "postgresql"))
        command = [foreseal_command(), "dev", "--port", "0", "--payments", "--block-time", "2s", "--step", "200ms"]
        node = stack.enter_context(stopping(LiveNode(command)))
        config = configure(Path(name), node.url, url)
        config.write_text(config.read_text().replace("127.0.0.1:0", f"127.0.0.1:{next_free_port()}"))
        made = run(old, "keys", "create", "admin", "--role", "admin", "--config", str(config))
        assert made.returncode == 0, made.stderr
        before = Release(old, config)
        clients = Clients(before.url, made.stdout.strip(), count)
        threads = clients.start(8)
        wait_for(lambda: len(clients.paid) >= count // 4, _SECONDS, "payments")
        os.killpg(before.process.pid, how)
        before.process.wait()
        print(f"{kind}: {how.name} after {len(clients.paid)} of {count} payments")
        _refused(run(foreseal_command(), "serve", "--config", str(config)), "this release, earlier schema")
        began = time.monotonic()
        done = run(foreseal_command(), "db", "upgrade", str(config))
        assert done.returncode == 0, done.stderr
        print(f"{kind}: upgraded in {time.monotonic() - began:.1f} s, process start included")
        _refused(run(old, "serve", "--config", str(config)), "earlier release, new schema")
        with stopping(Release(foreseal_command(), config)) as after:
            for each in threads:
                each.join()
            _check(after.url, clients, node, kind)


def _refused(result: "subprocess.CompletedProcess[str]", case: str) -> None:
    assert result.returncode == 2, (case, result)
    print(f"{case}: {(result.stderr or result.stdout).strip().splitlines()[-1]}")


def _check(url: str, clients: Clients, node: LiveNode, kind: str) -> None:
    headers = {"authorization": f"Bearer {clients.key}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client, contextlib.closing(Rpc(node.url)) as rpc:

        def finished() -> bool:
            pages = (client.get("/v1/orders", params={"tx_status": each, "limit": 1}) for each in _UNFINISHED)
            return not any(page.json()["items"] for page in pages)

        def exported() -> bool:
            text = client.get("/v1/export.csv").text
            rows = {(row["transaction_hash"], int(row["log_index"])) for row in csv.DictReader(io.StringIO(text))}
            return rows == set(scan(rpc, MERCHANT.address).received) and len(rows) == clients.count

        wait_for(finished, _SECONDS, "captures")
        wait_for(exported, _SECONDS, "an export with all transfers of the chain")
        faults = client.get("/v1/balance").json()["faults"]
    assert faults == [], faults
    paid, repeated = len(clients.paid), clients.repeated
    print(f"{kind}: {paid} paid, {repeated} repeated requests, {len(clients.rejected)} rejected {clients.rejected}")
    print(f"{kind}: {clients.count} transfers of the export are those of the chain; no faults")


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(prog="python -m upgrades", description=__doc__)
    parser.add_argument("--old", required=True, help="program `foreseal` of the earlier release")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--payments", type=int, default=400)
    parser.add_argument("--signal", choices=("SIGTERM", "SIGKILL"), default="SIGKILL")
    given = parser.parse_args()
    for kind in given.database or ["sqlite", "postgresql"]:
        upgrade(given.old, kind, given.payments, signal.Signals[given.signal])


if __name__ == "__main__":
    main()
