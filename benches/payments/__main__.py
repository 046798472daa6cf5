"""Measure `foreseal pay serve`: payments a second, processor time of each part, and delays.

Node, service, load and target of webhooks share this machine. Signatures are made before the clock starts. A run ends
when every payment is captured (provisional) and its webhooks are delivered.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvloop
from benches.payments.http_client import Connection, Target

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/campaigns")]

from benches.result_file import save  # noqa: E402

from foreseal.bench.provenance import read_provenance  # noqa: E402
from foreseal.codec import sign_digests  # noqa: E402
from foreseal.payments.contracts.development import BATCH_CAPTURE, NAME, TOKEN, VERSION  # noqa: E402
from foreseal.payments.typed_data import Domain, ReceiveAuthorization, random_nonce  # noqa: E402
from live.accounts import DEV_ACCOUNTS  # noqa: E402
from live.process import LiveNode, foreseal_command, stopping  # noqa: E402
from payments.api.serving import MERCHANT, api_key, configure, serving  # noqa: E402
from payments.postgresql import programs, server  # noqa: E402
from reconcile.campaign import Rpc  # noqa: E402
from reconcile.scan import scan  # noqa: E402

BUYERS = DEV_ACCOUNTS[3:15]
PATIENCE = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Figures:
    """Result of one run. Times in seconds, processor time in ms a payment."""

    mode: str
    database: str
    processes: int
    payments: int
    connections: int
    rate: float | None
    """Offered payments a second; None is a closed loop."""
    batch: int
    batch_capture: bool = False
    """True if the batch capture contract is the payee."""
    submitted_per_second: float = 0.0
    captured_per_second: float = 0.0
    """From the first request until the last payment is captured."""
    delivered_per_second: float = 0.0
    """From the first request until the last webhook is delivered."""
    events_per_payment: float = 0.0
    service_ms: float = 0.0
    node_ms: float = 0.0
    load_ms: float = 0.0
    """Load generator and target of webhooks."""
    captured_after: dict[str, float] = field(default_factory=dict)
    """From the request until its `order.captured` arrives at the target."""
    errors: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        ends = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in self.captured_after.items())
        return (
            f"{self.mode}{', batch capture' * self.batch_capture} on {self.database}, {self.processes} process(es):"
            f" submitted {self.submitted_per_second:.0f}/s, captured {self.captured_per_second:.0f}/s,"
            f" delivered {self.delivered_per_second:.0f}/s;"
            f" a payment: service {self.service_ms:.2f} ms, node {self.node_ms:.2f} ms, load {self.load_ms:.2f} ms,"
            f" {self.events_per_payment:.1f} events; captured after {ends}; errors {self.errors}"
        )


class Load:
    """One run against running processes."""

    def __init__(self, figures: Figures, ports: list[int], key: str, target: Target, *, quiet: bool) -> None:
        self._quiet = quiet
        self._figures = figures
        self._ports = ports
        self._key = key
        self._target = target
        self._domain = Domain(NAME, VERSION, 31337, TOKEN)
        self._began: dict[str, float] = {}
        self._errors: dict[str, int] = {}

    async def run(self, cpu: dict[str, Any]) -> None:
        """Send all payments, wait for captures and webhooks, and fill in the figures."""
        figures = self._figures
        jobs = self._jobs()
        connections = [
            await Connection.open("127.0.0.1", self._ports[number % len(self._ports)], self._key)
            for number in range(figures.connections)
        ]
        before = {name: group.cpu() for name, group in cpu.items()}
        own = time.process_time()
        start = time.monotonic()
        queue = iter(enumerate(jobs))
        await asyncio.gather(*(self._work(connection, queue, start) for connection in connections))
        submitted = time.monotonic() - start
        wanted = figures.payments - sum(self._errors.values())
        if self._quiet:
            await self._poll(connections[0], wanted)
        else:
            await self._until(lambda: len(self._target.captured) >= wanted)
        captured = max(self._target.captured.values(), default=start) - start
        count = -1
        while count != (count := self._target.types.total()):
            delivered = time.monotonic() - start
            await asyncio.sleep(1.5)
        spent = {name: (group.cpu() - before[name]) / figures.payments * 1000 for name, group in cpu.items()}
        figures.submitted_per_second = round(figures.payments / submitted, 1)
        figures.captured_per_second = round(len(self._target.captured) / captured, 1)
        figures.delivered_per_second = round(len(self._target.captured) / delivered, 1)
        figures.events_per_payment = round(self._target.types.total() / figures.payments, 2)
        figures.service_ms, figures.node_ms = round(spent["service"], 2), round(spent["node"], 2)
        figures.load_ms = round((time.process_time() - own) / figures.payments * 1000, 2)
        figures.errors = self._errors
        delays = sorted(time - self._began[id] for id, time in self._target.captured.items() if id in self._began)
        for name, part in (("p50", 0.5), ("p99", 0.99)):
            if delays:
                figures.captured_after[name] = round(delays[min(int(len(delays) * part), len(delays) - 1)], 3)
        for connection in connections:
            connection.close()

    async def _poll(self, connection: Connection, wanted: int) -> None:
        """Wait until no transaction is in progress, without webhooks."""
        statuses = ("intended", "broadcast", "unknown")
        while True:
            answers = [await connection.get(f"/v1/orders?tx_status={status}&limit=1") for status in statuses]
            if not any(orjson.loads(body)["items"] for _, body in answers):
                break
            await asyncio.sleep(0.1)
        self._target.captured = {f"q{number}": time.monotonic() for number in range(wanted)}

    async def _until(self, done: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not done() and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    def _jobs(self) -> list[tuple[str, list[str]]]:
        """Return the path and the ids of each request, with signed bodies in `self._bodies`."""
        figures = self._figures
        until = int(time.time()) + 86_400
        items: list[dict[str, Any]] = []
        payee = BATCH_CAPTURE if figures.batch_capture else MERCHANT.address
        for position, buyer in enumerate(BUYERS):
            numbers = range(position, figures.payments, len(BUYERS))
            messages = [
                ReceiveAuthorization(buyer.address, payee, 1_000 + number, 0, until, random_nonce())
                for number in numbers
            ]
            signed = sign_digests(bytes(buyer.key), [message.digest(self._domain) for message in messages])
            for number, message, signature in zip(numbers, messages, signed, strict=True):
                items.append(
                    {
                        "id": f"p{number}",
                        "payer": message.payer,
                        "amount": str(message.value),
                        "valid_before": until,
                        "nonce": "0x" + message.nonce.hex(),
                        "signature": "0x" + signature.hex(),
                        "capture": True,
                    }
                )
        items.sort(key=lambda item: int(item["id"][1:]))
        self._items = items
        size = figures.batch if figures.mode == "batch" else 1
        return [
            (f"job {first}", [item["id"] for item in items[first : first + size]])
            for first in range(0, len(items), size)
        ]

    async def _work(
        self, connection: Connection, queue: Iterator[tuple[int, tuple[str, list[str]]]], start: float
    ) -> None:
        figures = self._figures
        per_job = figures.batch if figures.mode == "batch" else 1
        for number, (key, ids) in queue:
            if figures.rate is not None:
                await asyncio.sleep(max(0.0, start + number * per_job / figures.rate - time.monotonic()))
            now = time.monotonic()
            self._began |= dict.fromkeys(ids, now)
            first = int(ids[0][1:])
            items = self._items[first : first + len(ids)]
            if figures.mode == "payments":
                status, body = await connection.post("/v1/payments", orjson.dumps(items[0]), key)
                self._count(status, body, 201)
            elif figures.mode == "batch":
                status, body = await connection.post("/v1/payments/batch", orjson.dumps({"payments": items}), key)
                if status != 200:
                    self._errors[str(status)] = self._errors.get(str(status), 0) + len(ids)
                    continue
                for item in orjson.loads(body)["items"]:
                    self._count(item["status"], orjson.dumps(item), 201)
            else:
                await self._steps(connection, items[0], key)

    async def _steps(self, connection: Connection, item: dict[str, Any], key: str) -> None:
        """Create, sign and capture an order in three requests."""
        order = {name: item[name] for name in ("id", "payer", "amount", "valid_before")}
        status, body = await connection.post("/v1/orders", orjson.dumps(order), key + " create")
        if status != 201:
            self._count(status, body, 201)
            return
        terms = orjson.loads(body)["typed_data"]["message"]
        buyer = next(buyer for buyer in BUYERS if buyer.address == item["payer"])
        message = ReceiveAuthorization(
            terms["from"],
            terms["to"],
            int(terms["value"]),
            int(terms["validAfter"]),
            int(terms["validBefore"]),
            bytes.fromhex(terms["nonce"][2:]),
        )
        signature = "0x" + message.sign(self._domain, bytes(buyer.key)).hex()
        path = f"/v1/orders/{item['id']}"
        status, body = await connection.post(f"{path}/signature", orjson.dumps({"signature": signature}), key + " sign")
        if status == 200:
            status, body = await connection.post(f"{path}/capture", b"{}", key + " capture")
        self._count(status, body, 200)

    def _count(self, status: int, body: bytes, expected: int) -> None:
        if status != expected:
            if not self._errors:
                print(status, body[:500], file=sys.stderr)
            self._errors[str(status)] = self._errors.get(str(status), 0) + 1


@contextlib.contextmanager
def database(folder: Path, kind: str) -> Iterator[str]:
    """Provide the URL of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/pay.db"
        return
    binaries = programs()
    assert binaries is not None, "no initdb and postgres on this machine"
    with server(binaries) as url:
        yield url


async def measure(given: argparse.Namespace, figures: Figures) -> None:
    """Start node and service, run the load, and compare the ledger with the chain."""
    target = Target()
    await target.start()
    hook = f"http://127.0.0.1:{target.port}/"
    with (
        tempfile.TemporaryDirectory(prefix="foreseal-") as name,
        database(Path(name), figures.database) as url,
        stopping(
            LiveNode([foreseal_command(), "dev", "--port", "0", "--payments", "--block-time", "2s", "--step", "200ms"])
        ) as node,
    ):
        more = given.more.replace("\\n", "\n")
        if not given.quiet:  # the target of webhooks is on this machine
            more = f'webhook_networks = ["127.0.0.0/8"]\n{more}'
        if figures.batch_capture:
            more = f'batch_capture = "{BATCH_CAPTURE}"\n{more}'
        config = configure(Path(name), node.url, url, more=more)
        key = api_key(config)
        with contextlib.ExitStack() as stack:
            services = [stack.enter_context(serving(config)) for _ in range(figures.processes)]
            ports = [int(service.url.rpartition(":")[2]) for service in services]
            connection = await Connection.open("127.0.0.1", ports[0], key)
            body = {"url": hook} | ({"events": given.events.split(",")} if given.events else {})
            if not given.quiet:
                status, answer = await connection.post("/v1/webhooks", orjson.dumps(body), "hook")
                assert status == 201, answer
            pids = [service.process.pid for service in services]
            cpu = {"service": Groups(pids), "node": Groups([node.process.pid])}
            if given.profile:
                stack.enter_context(profiled(pids[0], given.profile))
            await Load(figures, ports, key, target, quiet=given.quiet).run(cpu)
            connection.close()
            for service in services:
                if given.verbose:
                    print(service.printed[-3000:])
            if given.reconcile:
                await asyncio.to_thread(reconcile, services[0].url, key, node)


def reconcile(url: str, key: str, node: LiveNode) -> None:
    """Compare the export with all transfers on the chain."""
    import csv
    import io

    import httpx

    with contextlib.closing(Rpc(node.url)) as rpc:
        for _ in range(20):
            response = httpx.get(f"{url}/v1/export.csv", headers={"authorization": f"Bearer {key}"}, timeout=60)
            rows = {
                (row["transaction_hash"], int(row["log_index"])): int(row["amount"])
                for row in csv.DictReader(io.StringIO(response.text))
            }
            if rows == _expected_rows(rpc):
                break
            time.sleep(0.5)  # the last block is not sealed yet
        else:
            raise AssertionError("the export is not what the chain has")
    print(f"reconciled: {len(rows)} transfers of the export are those of the chain")


def _expected_rows(rpc: Rpc) -> dict[tuple[str, int], int]:
    """Return the transfers of sealed blocks that the export must have."""
    received, captured = (scan(rpc, account).received for account in (MERCHANT.address, BATCH_CAPTURE))
    # The contract forwards each batch to the merchant in its last transfer, which is no row of the export.
    sums: dict[str, int] = {}
    for (hash, _), amount in captured.items():
        sums[hash] = sums.get(hash, 0) + amount
    forwarded = {key: amount for key, amount in received.items() if sums.get(key[0]) == amount}
    assert len(forwarded) == len(sums), "the contract did not forward what it received"
    return captured | {key: amount for key, amount in received.items() if key not in forwarded}


class Groups:
    """Processor time of several processes with their children."""

    def __init__(self, pids: list[int]) -> None:
        from foreseal.bench.process_usage import ProcessGroup

        self._groups = [ProcessGroup(pid) for pid in pids]

    def cpu(self) -> float:
        """Return processor time in seconds."""
        return sum(group.cpu() for group in self._groups)


@contextlib.contextmanager
def profiled(pid: int, file: str) -> Iterator[None]:
    """Record a profile of a process with py-spy, if it is installed."""
    import subprocess

    process = subprocess.Popen(
        ["py-spy", "record", "-p", str(pid), "-o", file, "-f", "raw", "-r", "100", "-t", "--gil", "--nonblocking"]
    )
    try:
        yield
    finally:
        process.send_signal(2)
        process.wait()


def main() -> None:
    """Run the measurements and save them if requested."""
    parser = argparse.ArgumentParser(prog="python -m benches.payments", description=__doc__)
    parser.add_argument("--mode", choices=("orders", "payments", "batch"), action="append")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--processes", type=int, action="append")
    parser.add_argument("--payments", type=int, default=3_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rate", type=float, help="offered payments a second; a closed loop by default")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument(
        "--batch-capture", action="store_true", help="sign for the batch capture contract, and configure it"
    )
    parser.add_argument("--events", default="", help="event types of the webhook, separated by commas; default all")
    parser.add_argument("--quiet", action="store_true", help="without webhooks")
    parser.add_argument("--more", default="", help="text added to pay.toml")
    parser.add_argument("--reconcile", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--profile", help="file for a profile of the service by py-spy")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    results = []
    runs = itertools.product(given.database or ["sqlite"], given.processes or [1], given.mode or ["payments"])
    for kind, processes, mode in runs:
        figures = Figures(
            mode,
            kind,
            processes,
            given.payments,
            # The queue of the service has room for 8,000 payments of batches.
            given.connections if mode != "batch" else max(1, min(given.connections, 4_000 // given.batch)),
            given.rate,
            given.batch,
            given.batch_capture,
        )
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure(given, figures))
        print(figures, flush=True)
        results.append(asdict(figures))
    if given.save:
        command = "python -m benches.payments " + " ".join(sys.argv[1:])
        report = read_provenance(command, ("granian", "sqlalchemy", "starlette", "aiohttp"))
        save({**report, "figures": results}, given.save)


if __name__ == "__main__":
    main()
