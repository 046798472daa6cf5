"""Webhooks per second to a target with a delay, and the processor time of each from the timeline to its result.

`PYTHONPATH=tests/support:tests/campaigns python -m webhook_rate --save benches/results/webhooks.json` saves the result.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
from sqlalchemy import func, select, update

from campaign_cli import conclude, options, show
from foreseal.payments.api import webhooks
from foreseal.payments.api.events import encode_events
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import WebhookOutbox
from foreseal.payments.api.webhook_signature import new_secret
from foreseal.payments.configuration import TokenSection
from foreseal.payments.configuration.webhook_targets import AddressPolicy, parse_networks
from foreseal.payments.destinations.label import DestinationLabel, DestinationLabels
from foreseal.payments.ledger import Database, OrderState, TimelineEntry, Trigger, TxStatus
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.queries import ColumnValues, insert_all
from foreseal.payments.ledger.timeline import record_entries
from foreseal.payments.workers.webhook_dispatcher import (
    DEFAULT_CONCURRENCY,
    MIN_LEASE,
    DispatcherSettings,
    WebhookDispatcher,
)
from live.blocks import wait_for
from reconcile.__main__ import database

TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PAYER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
EVENTS = (
    (Trigger.STORE_SIGNED, None, "Stored, unused"),
    (Trigger.CAPTURE, "Stored, unused", "Stored, unused (intended)"),
    (Trigger.ACCEPTED, "Stored, unused (intended)", "Stored, unused (broadcast)"),
    (Trigger.LANDED, "Stored, unused (broadcast)", "Used, captured (provisional)"),
    (Trigger.CONFIRM, "Used, captured (provisional)", "Used, captured (confirmed)"),
)
"""Events of each payment."""
SECONDS = 120.0
# Seconds between two reads of the progress, whose processor time counts as well.
_POLL_INTERVAL = 0.25


@dataclass
class Rate:
    """Result of the campaign."""

    events: int
    database: str
    delay_seconds: float
    concurrency: int
    events_per_second: float = 0.0
    cpu_ms_per_event: float = 0.0
    faults: list[str] = field(default_factory=list)


def main() -> int:
    """Run it and return 0 if every event arrived once and in order."""
    parser = options("webhook_rate")
    parser.add_argument("--payments", type=int, default=3_000)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds until the target answers")
    parser.add_argument("--concurrency", type=int, default=DEFAULT_CONCURRENCY)
    parser.add_argument("--postgresql", action="store_true", help="in place of SQLite")
    given = parser.parse_args()
    backend = "PostgreSQL" if given.postgresql else "SQLite"
    rate = Rate(given.payments * len(EVENTS), backend, given.delay, given.concurrency)
    secret = new_secret()
    with (
        tempfile.TemporaryDirectory(prefix="foreseal-") as name,
        database(Path(name), postgresql=given.postgresql) as url,
        receiving(given.delay, secret) as target,
    ):
        ledger = Database(url)
        fill(ledger, given.payments, target, secret)
        measure(ledger, rate, target)
        ledger.close()
    show(rate, rate.faults)
    return conclude(rate, rate.faults, given.save, ("python -m webhook_rate", ("aiohttp", "sqlalchemy", "uvloop")))


@contextlib.contextmanager
def receiving(delay: float, secret: str) -> Iterator[str]:
    """Run the target. Yield its URL."""
    command = [sys.executable, "-m", "webhook_rate.receiver", str(delay), secret]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.terminate()


def fill(ledger: Database, payments: int, target: str, secret: str) -> None:
    """Store a target, payments and their timeline."""
    now = int(time.time())
    with ledger.transaction() as tx:
        webhooks.register(tx, "hook", target, now)
        tx.execute(update(WebhookRecord).values({WebhookRecord.secret: secret}))
        insert_all(tx, OrderRecord, [order(number, now) for number in range(payments)])
        for trigger, before, after in EVENTS:
            details = {"transaction": "0x" + "ab" * 32}
            record_entries(
                tx,
                [TimelineEntry("orders", f"o{n}", now, trigger, before, after, details) for n in range(payments)],
            )


def order(number: int, now: int) -> ColumnValues:
    """Return the values of an order."""
    unique = number.to_bytes(32, "big")
    return {
        OrderRecord.id: f"o{number}",
        OrderRecord.chain_id: 84532,
        OrderRecord.token: TOKEN,
        OrderRecord.payer: PAYER,
        OrderRecord.payee: PAYER,
        OrderRecord.amount: 12_340_000,
        OrderRecord.valid_after: 0,
        OrderRecord.valid_before: now + 3_600,
        OrderRecord.nonce: unique,
        OrderRecord.memo: unique,
        OrderRecord.since_block: 0,
        OrderRecord.created: now,
        OrderRecord.state: OrderState.CAPTURED,
        OrderRecord.step: TxStatus.IDLE,
    }


def measure(ledger: Database, rate: Rate, target: str) -> None:
    """Deliver everything and fill in the result."""
    labels = DestinationLabels([DestinationLabel("default", TokenSection(address=TOKEN), PAYER, (PAYER,))])
    outbox = WebhookOutbox(ledger, time.time, "rate", MIN_LEASE, partial(encode_events, Views(labels)))
    policy = AddressPolicy(parse_networks(["127.0.0.0/8"]))
    dispatcher = WebhookDispatcher(outbox, DispatcherSettings({}, policy, rate.concurrency))
    delivered = select(func.count()).where(DeliveryRecord.state == DeliveryState.DELIVERED)

    def finished() -> bool:
        with ledger.reading() as tx:
            return int(tx.execute(delivered).scalar_one()) == rate.events

    before, started = time.process_time(), time.monotonic()
    dispatcher.start()
    with httpx.Client() as client:
        while client.get(target).json()["received"] < rate.events and time.monotonic() < started + SECONDS:
            time.sleep(_POLL_INTERVAL)
        used, lasted = time.process_time() - before, time.monotonic() - started
        wait_for(finished, SECONDS, "all results")
        dispatcher.stop()
        report = client.get(target).json()
    rate.events_per_second = round(rate.events / lasted, 1)
    rate.cpu_ms_per_event = round(1_000 * used / rate.events, 3)
    if report["received"] != rate.events or report["faults"]:
        rate.faults.append(f"{report['received']} of {rate.events} arrived, {report['faults']} were wrong")


if __name__ == "__main__":
    sys.exit(main())
