"""A restarted process has its name and its leases at once; two living processes never share a name."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from foreseal.payments.api import webhooks
from foreseal.payments.api.events import encode_events
from foreseal.payments.api.idempotency import IdempotentRequests, RequestClaim, StoredResponse
from foreseal.payments.api.models import DeliveryRecord, RequestRecord
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import WebhookOutbox
from foreseal.payments.configuration import ServeSection, read
from foreseal.payments.ledger import Database
from foreseal.payments.workers import process_name
from foreseal.payments.workers.process_name import (
    MAX_NAME,
    NameInUse,
    NoLock,
    ProcessName,
    acquire_name,
    build_lock,
)
from foreseal.payments.workers.process_registry import ProcessRegistry
from payments.api.service_harness import LEASE, ServiceHarness

SHOP = ProcessName("shop")
# Holds the lock of a name until it is killed.
HOLDER = """
import sys
from foreseal.payments.ledger import Database
from foreseal.payments.workers.process_name import ProcessName, build_lock
database = Database(sys.argv[1])
assert build_lock(database, ProcessName("shop")).acquire()
print("locked", flush=True)
sys.stdin.read()
"""


class Patience:
    """A clock that advances while a start waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.during: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.during()


def start(database: Database, clock: Patience, name: ProcessName = SHOP) -> ProcessRegistry:
    """Acquire the name and record the first heartbeat."""
    registry = ProcessRegistry(database, name.name, LEASE, build_lock(database, name))
    acquire_name(database, name, registry.lock, LEASE, clock, clock.sleep)
    registry.heartbeat(clock())
    return registry


def test_second_process_with_a_living_name_is_rejected(url: str) -> None:
    database, clock = Database(url), Patience()
    first = start(database, clock)
    with pytest.raises(NameInUse, match=r"another process with the name shop .* \(\[serve\] name\)"):
        start(database, clock)
    other = start(database, clock, ProcessName("other"))
    assert other.count(clock()) == 2
    # The first one ends during the wait.
    clock.during = first.remove
    third = start(database, clock)
    assert third.count(clock()) == 2
    for each in (third, other):
        each.remove()
    database.close()


def test_hung_process_with_the_same_name_does_not_block_a_start(url: str, caplog: pytest.LogCaptureFixture) -> None:
    database, clock = Database(url), Patience()
    first = start(database, clock)
    clock.now += LEASE + 1
    second = start(database, clock)
    assert "a process with the same name hangs" in caplog.text
    assert second.count(clock()) == 1
    assert caplog.text.count("another process has the same name") == 1
    first.remove()
    second.heartbeat(clock())  # it has the lock now
    assert caplog.text.count("another process has the same name") == 1
    second.remove()
    database.close()


def test_killed_process_releases_its_name_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_name, "_PATIENCE", 60.0)
    database, clock = Database(url), Patience()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        lock = build_lock(database, SHOP)
        assert not lock.acquire()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        # PostgreSQL notices the closed connection a moment later, which is real time.
        acquire_name(database, SHOP, lock, LEASE, clock)
        assert lock.acquire()
        lock.release()
    finally:
        holder.kill()
        holder.communicate()
        database.close()


def test_restarted_process_executes_its_interrupted_request_at_once(service: ServiceHarness) -> None:
    def process(owner: str) -> IdempotentRequests:
        return IdempotentRequests(service.database, service.clock, owner, LEASE)

    before, after, other = process("shop 1"), process("shop 2"), process("shop-b 3")
    claim = before.claim("k", "f")
    assert isinstance(claim, RequestClaim)
    for busy in (before, other, process("sho 4")):
        with pytest.raises(Exception, match="in_progress"):
            busy.claim("k", "f")
    again = after.claim("k", "f")
    assert isinstance(again, RequestClaim)
    assert again.again
    with pytest.raises(Exception, match="in_progress"):
        after.claim("k", "f")
    before.conclude(claim, StoredResponse(200, b"late"))
    after.conclude(again, StoredResponse(200, b"right"))
    assert other.claim("k", "f") == StoredResponse(200, b"right")


def test_restarted_process_posts_its_interrupted_webhooks_at_once(service: ServiceHarness) -> None:
    with service.database.transaction() as tx:
        webhooks.register(tx, "hook", "http://x.example/", 1)
    service.draft("a")
    encode = partial(encode_events, Views(service.process.backend.destinations.labels))
    before = WebhookOutbox(service.database, service.clock, "shop 1", LEASE, encode)
    after = WebhookOutbox(service.database, service.clock, "shop 2", LEASE, encode)
    before.fan_out()
    assert len(before.claim("hook", 10)) == 1
    assert after.claim("hook", 10) == []
    with service.database.transaction() as tx:
        webhooks.release_leases(tx, "sho")
        webhooks.release_leases(tx, "shop-b")
    assert after.claim("hook", 10) == []
    with service.database.transaction() as tx:
        webhooks.release_leases(tx, "shop")
    assert len(after.claim("hook", 10)) == 1
    with service.database.reading() as tx:
        assert tx.execute(select(DeliveryRecord.leased_by)).scalar_one() == "shop 2"


def test_owner_fits_its_column(service: ServiceHarness) -> None:
    name = ProcessName("n" * MAX_NAME)
    claim = IdempotentRequests(service.database, service.clock, name.lease_owner, LEASE).claim("k", "f")
    assert isinstance(claim, RequestClaim)
    with service.database.reading() as tx:
        owner = tx.execute(select(RequestRecord.owner).where(RequestRecord.key == "k")).scalar_one()
    assert owner == claim.lease_owner
    assert len(owner) <= 100


def test_name_is_configured_or_consists_of_host_and_address(service: ServiceHarness) -> None:
    listening = ServeSection(listen="127.0.0.1:8600")
    assert ProcessName.from_section(listening, "box").name == "box-127.0.0.1-8600"
    assert ProcessName.from_section(ServeSection(name="shop-1")).name == "shop-1"
    long = ProcessName.from_section(listening, "h" * 80).name
    assert len(long) == MAX_NAME
    assert (
        long == ProcessName.from_section(listening, "h" * 80).name != ProcessName.from_section(listening, "h" * 81).name
    )
    free = [ProcessName.from_section(ServeSection(listen="127.0.0.1:0"), "box") for _ in range(2)]
    assert free[0].name != free[1].name
    assert isinstance(build_lock(service.database, free[0]), NoLock)
    with pytest.raises(Exception, match="is not a name of 1 to 64 letters"):
        _with_name(service.file, "two words")
    assert read(_with_name(service.file, "shop-1")).serve.name == "shop-1"


def _with_name(path: Path, name: str) -> Path:
    lines = [line for line in path.read_text().splitlines() if not line.startswith('name = "two')]
    text = "\n".join(lines).replace("[serve]", f'[serve]\nname = "{name}"', 1)
    path.with_suffix(".named").write_text(text)
    read(path.with_suffix(".named"))
    return path.with_suffix(".named")
