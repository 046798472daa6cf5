"""Many payments of different kinds through the service, then a comparison of the export with the chain.

Of twenty payments fourteen are captured, two more captured and refunded (partly, fully), one is voided, and three are
wrong: too little with an order's memo, from an unknown sender, and for a voided order. Each buyer has a thread.
"""

import contextlib
import csv
import io
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from campaign_cli import quantile
from foreseal.cli.output import ShowProgress, show_progress
from foreseal.payments.contracts.development import TOKEN
from live.accounts import DEV_ACCOUNTS
from live.blocks import wait_for
from live.process import LiveNode
from live.rpc import Rpc
from live.sending import Sender
from payments.api.serving import MERCHANT, Serving, Shopper, signature
from reconcile.scan import scan

KINDS = ["captured"] * 14 + ["part refunded", "refunded", "voided", "under", "unmatched", "late"]
THREADS = 12
# One of this many captures is watched until it is provisional.
SAMPLED = 10
# Seconds between two polls of it.
LOOK = 0.02
# Seconds between two polls of everything.
_PAUSE = 2.0
# Seconds for everything to become final.
PATIENCE = 1_800.0


@dataclass(slots=True)
class Summary:
    """Counts and results. Amounts in smallest units, times in seconds."""

    payments: int
    database: str
    kinds: dict[str, int] = field(default_factory=dict)
    submitted_per_second: float = 0.0
    captured_per_second: float = 0.0
    """Captures per second, from the first request until the last capture is provisional."""
    provisional_after: dict[str, float] = field(default_factory=dict)
    """Seconds from the capture request until the order is provisional, for the sampled captures."""
    requests: dict[str, dict[str, float]] = field(default_factory=dict)
    """Response times by request."""
    exported: dict[str, int] = field(default_factory=dict)
    on_chain: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        p50, p99 = (self.provisional_after[name] for name in ("p50", "p99"))
        return (
            f"{self.payments} payments over {self.database}: {self.captured_per_second:.1f} captured a second,"
            f" provisional {p50:.2f} s (p50) and {p99:.2f} s (p99) after the request;"
            f" {self.rows} rows of the export are the chain's transfers:"
            f" {self.exported} = {self.on_chain}; {len(self.faults)} faults"
        )


class Campaign:
    """Payments of one merchant."""

    def __init__(self, node: LiveNode, service: Serving, key: str, summary: Summary) -> None:
        self.summary = summary
        self._node, self._service, self._key = node, service, key
        self._lock = threading.Lock()
        self._expected: Counter[str] = Counter()
        self._refunds: list[tuple[str, int]] = []
        self._times: dict[str, list[float]] = {}
        self._show: ShowProgress

    def run(self) -> None:
        """Pay, refund, wait until all is final, and compare."""
        began = time.monotonic()
        with show_progress("reconciling") as self._show, self._shopper("end") as shopper:
            with ThreadPoolExecutor(THREADS) as pool:
                for done in [pool.submit(self._pay, number) for number in range(THREADS)]:
                    done.result()
            submitted = time.monotonic() - began
            wait_for(lambda: self._landed(shopper), PATIENCE, "all captures")
            captured = time.monotonic() - began
            self._refund(shopper)
            wait_for(lambda: self._is_final(shopper), PATIENCE, "all to be final")
            self._compare(shopper)
        summary = self.summary
        count = sum(summary.kinds[kind] for kind in ("captured", "part refunded", "refunded"))
        summary.submitted_per_second = round(summary.payments / submitted, 1)
        summary.captured_per_second = round(count / captured, 1)
        summary.provisional_after = _quantiles(self._times.pop("provisional"))
        summary.requests = {name: _quantiles(times) for name, times in sorted(self._times.items())}

    def _pay(self, thread: int) -> None:
        buyer = DEV_ACCOUNTS[3 + thread]
        with contextlib.closing(Rpc(self._node.url)) as rpc, self._shopper(f"{thread} ") as shopper:
            own = Sender(rpc, buyer)
            nonce = own.nonce()
            for number in range(thread, self.summary.payments, THREADS):
                kind, amount = KINDS[number % len(KINDS)], 1_000 + number
                id = f"order {number}"
                if kind != "unmatched":
                    self._order(shopper, id, amount, buyer)
                if kind in ("voided", "late"):
                    with self._timed("void"):
                        shopper.made(f"/v1/orders/{id}/void")
                if kind in ("under", "unmatched", "late"):
                    paid = amount - 1 if kind == "under" else amount
                    own.send(nonce, to=TOKEN, data=_transfer(paid, None if kind == "unmatched" else id), gas=120_000)
                    nonce += 1
                    self._note(kind, unmatched=paid)
                elif kind == "voided":
                    self._note(kind)
                else:
                    self._capture(shopper, id, sampled=number % SAMPLED == 0)
                    refund = {"captured": 0, "part refunded": amount // 3, "refunded": amount}[kind]
                    self._note(kind, captured=amount, refunded=refund)
                    if refund:
                        self._refunds.append((id, refund))

    def _order(self, shopper: Shopper, id: str, amount: int, buyer: LocalAccount) -> None:
        with self._timed("create"):
            made = shopper.made("/v1/orders", {"id": id, "payer": buyer.address, "amount": str(amount)})
        signed = {"signature": signature(buyer, made["typed_data"])}
        with self._timed("sign"):
            shopper.made(f"/v1/orders/{id}/signature", signed)

    def _capture(self, shopper: Shopper, id: str, *, sampled: bool) -> None:
        began = time.monotonic()
        with self._timed("capture"):
            shopper.made(f"/v1/orders/{id}/capture")
        if sampled:
            while not shopper.status(id).startswith("Used, captured"):
                time.sleep(LOOK)
            self._add("provisional", time.monotonic() - began)

    def _refund(self, shopper: Shopper) -> None:
        for number, (id, amount) in enumerate(self._refunds):
            self._show("refunds", number, len(self._refunds))
            wait_for(partial(_is_confirmed, shopper, id), PATIENCE, f"{id} to be confirmed")
            with self._timed("refund"):
                shopper.made(f"/v1/orders/{id}/refunds", {"amount": str(amount)})

    def _landed(self, shopper: Shopper) -> bool:
        statuses = ("intended", "broadcast", "unknown")
        return not any(shopper.get(f"/v1/orders?tx_status={status}&limit=1")["items"] for status in statuses)

    def _is_final(self, shopper: Shopper) -> bool:
        time.sleep(_PAUSE)
        rows = _export(shopper)
        counts = Counter(row["kind"] for row in rows if row["finality"] == "final")
        self._show("final", sum(counts.values()), len(rows))
        kinds = self.summary.kinds
        wanted = (kinds["part refunded"] + kinds["refunded"], kinds["under"] + kinds["unmatched"] + kinds["late"])
        return len(rows) == sum(counts.values()) and (counts["refunded"], counts["unmatched"]) == wanted

    def _compare(self, shopper: Shopper) -> None:
        """Check that rows of the export and transfers on the chain correspond one to one, and that the sums match."""
        faults = self.summary.faults
        rows = _export(shopper)
        with contextlib.closing(Rpc(self._node.url)) as rpc:
            moved = scan(rpc, MERCHANT.address)
        exported: dict[str, dict[tuple[str, int], int]] = {"captured": {}, "unmatched": {}, "refunded": {}}
        for row in rows:
            place = (row["transaction_hash"], int(row["log_index"]))
            if place in exported[row["kind"]]:
                faults.append(f"{place} occurs twice")
            exported[row["kind"]][place] = int(row["amount"])
        if exported["captured"] | exported["unmatched"] != moved.received:
            faults.append("captured and unmatched are not the transfers to the merchant")
        if exported["refunded"] != moved.sent:
            faults.append("refunded is not what the merchant sent")
        sums = {kind: sum(amounts.values()) for kind, amounts in exported.items()}
        expected = self._expected
        faults += [f"{kind}: {sums[kind]}, not {expected[kind]}" for kind in sums if sums[kind] != expected[kind]]
        faults += [fault["message"] for fault in shopper.get("/v1/balance")["faults"]]
        self.summary.rows = len(rows)
        self.summary.exported = sums
        self.summary.on_chain = {"received": sum(moved.received.values()), "sent": sum(moved.sent.values())}

    def _shopper(self, prefix: str) -> Shopper:
        return Shopper(self._service.url, self._key, prefix)

    def _note(self, kind: str, **amounts: int) -> None:
        with self._lock:
            self.summary.kinds[kind] = self.summary.kinds.get(kind, 0) + 1
            self._expected.update(amounts)
            self._show("payments", sum(self.summary.kinds.values()), self.summary.payments)

    def _add(self, name: str, seconds: float) -> None:
        with self._lock:
            self._times.setdefault(name, []).append(seconds)

    @contextlib.contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._add(name, time.monotonic() - began)


def _is_confirmed(shopper: Shopper, id: str) -> bool:
    return shopper.status(id).endswith(("confirmed", "final"))


def _transfer(amount: int, order: str | None) -> str:
    """Return the call data of a transfer to the merchant, plain or with an order's memo."""
    recipient, units = MERCHANT.address[2:].lower().rjust(64, "0"), f"{amount:064x}"
    if order is None:
        return "0xa9059cbb" + recipient + units
    return "0x95777d59" + recipient + units + keccak(text=order).hex()


def _export(shopper: Shopper) -> list[dict[str, str]]:
    response = shopper.client.get("/v1/export.csv")
    assert response.status_code == 200, response.text
    return list(csv.DictReader(io.StringIO(response.text)))


def _quantiles(times: list[float]) -> dict[str, float]:
    quantiles = {name: round(quantile(times, part), 3) for name, part in (("p50", 0.5), ("p99", 0.99))}
    return quantiles | {"count": len(times)}
