"""Webhooks: at least once, in order per order, signed, despite rejections, crashes and two processes."""

import hashlib
import hmac
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from foreseal.payments.api import webhooks as hooks
from foreseal.payments.api.events import event
from foreseal.payments.api.models import DeliveryRecord, DeliveryState
from foreseal.payments.api.roles import Role
from foreseal.payments.api.webhook_signature import InvalidWebhookSignature, sign, verify
from foreseal.payments.api.webhooks import ATTEMPTS, MAX_RETRY_DELAY
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger.models import TimelineRecord
from payments.api.service_harness import LEASE, Process, ServiceHarness
from payments.shop import Killed

URL = "http://hooks.test/a"


def register(service: ServiceHarness, url: str = URL) -> Any:
    return service.made("/v1/webhooks", {"url": url})


def deliver(service: ServiceHarness, process: Process | None = None) -> int:
    """Deliver all due webhooks and return the number of attempts."""
    one, tried = process or service.process, 0
    one.outbox.fan_out()
    for hook in one.outbox.targets():
        while count := one.telling.deliver(hook):
            tried += count
    return tried


def entries(service: ServiceHarness) -> list[Any]:
    """Return object id and type of each posted webhook."""
    return [(e["data"]["object"]["id"], e["type"]) for e in (orjson.loads(body) for _, body, _ in service.post.got)]


def test_a_target_gets_later_events_signed_and_in_order(service: ServiceHarness) -> None:
    service.draft("before")
    made = register(service)
    service.captured("a")
    deliver(service)
    with service.database.reading() as tx:
        wanted = select(TimelineRecord).where(TimelineRecord.subject_id == "a").order_by(TimelineRecord.id)
        told = [(row.subject_id, event(row)["type"]) for row in tx.execute(wanted)]
    assert len(told) > 5
    assert entries(service) == told
    assert ("a", "order.captured") in told
    for url, body, headers in service.post.got:
        assert url == URL
        stamp, _, mac = headers["Foreseal-Signature"].partition(",v1=")
        signed = stamp.removeprefix("t=").encode() + b"." + body
        assert mac == hmac.new(made["secret"].encode(), signed, hashlib.sha256).hexdigest()
        assert headers["Foreseal-Event"] == orjson.loads(body)["id"]
        verify(made["secret"], headers["Foreseal-Signature"], body, service.clock())
    assert deliver(service) == 0
    assert service.get("/v1/deliveries?limit=1")["items"][0]["state"] == "delivered"
    assert "secret" not in service.get("/v1/webhooks")["items"][0]


def test_invalid_signature_is_rejected() -> None:
    header = sign("s", 1_000, b"body")
    verify("s", header, b"body", 1_299)
    wrong: list[tuple[str, str, bytes, float]] = [
        ("x", header, b"body", 1_000),
        ("s", header, b"bodx", 1_000),
        ("s", header.replace("t=1000", "t=1001"), b"body", 1_000),
        ("s", header, b"body", 1_301),
        ("s", header, b"body", 699),
        ("s", "", b"body", 1_000),
    ]
    for secret, given, body, now in wrong:
        with pytest.raises(InvalidWebhookSignature):
            verify(secret, given, body, now)


def test_rejected_delivery_backs_off_and_blocks_only_its_order(service: ServiceHarness) -> None:
    register(service)
    service.draft("a")
    deliver(service)
    refusing = True

    def answer(_: str) -> int:
        return 500 if refusing and orjson.loads(service.post.got[-1][1])["data"]["object"]["id"] == "a" else 204

    service.post.status = answer
    service.post.got.clear()
    service.made("/v1/orders/a/signature", {"signature": service.signature("a")})
    service.draft("b")
    deliver(service)
    # The first of the two entries of `a` was attempted once, the second never.
    assert entries(service) == [("a", "order.signed"), ("b", "order.created")]
    (waiting,) = service.get("/v1/deliveries?state=pending&limit=5")["items"][1:]
    assert (waiting["attempts"], waiting["last_error"]) == (1, "status 500")
    for attempt in range(1, 5):
        service.offset += 2.0 ** (attempt - 1) - 0.5
        assert deliver(service) == 0
        service.offset += 0.5
        assert deliver(service) == 1
    refusing = False
    service.offset += MAX_RETRY_DELAY
    service.post.got.clear()
    assert deliver(service) == 2
    assert [trigger for _, trigger in entries(service)] == [
        "order.signed",
        "order.stored",
    ]


def test_abandoned_delivery_is_listed_and_can_be_retried(service: ServiceHarness) -> None:
    register(service)
    service.post.status = lambda _: 500
    service.draft("a")
    service.made("/v1/orders/a/signature", {"signature": service.signature("a")})
    waits = 0.0
    for _ in range(ATTEMPTS):
        deliver(service)
        before = service.offset
        service.offset += MAX_RETRY_DELAY
        waits += service.offset - before
    (dead,) = service.get("/v1/deliveries?state=dead")["items"]
    assert (dead["attempts"], dead["object_id"]) == (ATTEMPTS, "a")
    # A dead delivery does not block later ones.
    service.post.status = lambda _: 200
    service.post.got.clear()
    deliver(service)
    assert [trigger for _, trigger in entries(service)] == [
        "order.signed",
        "order.stored",
    ]
    service.refused(404, "not_found", "/v1/deliveries/99999/retry")
    assert service.made(f"/v1/deliveries/{dead['id']}/retry")["state"] == "pending"
    assert deliver(service) == 1
    assert service.get("/v1/deliveries?state=dead")["items"] == []


def test_deliveries_of_a_dead_process_are_taken_over(service: ServiceHarness) -> None:
    register(service)
    service.draft("a")
    other = service.another()
    service.process.outbox.fan_out()
    (hook,) = service.process.outbox.targets()
    assert len(service.process.outbox.claim(hook.id, 10)) == 1
    assert other.telling.deliver(hook) == 0
    service.offset += LEASE + 1
    assert other.telling.deliver(hook) == 1
    assert entries(service) == [("a", "order.created")]


def test_two_processes_deliver_each_event_once(service: ServiceHarness) -> None:
    register(service)
    other = service.another()
    for number in range(30):
        service.draft(f"n{number}")
    service.process.outbox.fan_out()
    assert other.outbox.fan_out() == 0
    (hook,) = service.process.outbox.targets()
    mine = service.process.outbox.claim(hook.id, 20)
    rest = other.outbox.claim(hook.id, 20)
    assert (len(mine), len(rest)) == (20, 10)
    assert not {row.id for row, _ in mine} & {row.id for row, _ in rest}


def test_a_rolled_back_event_is_not_delivered(service: ServiceHarness) -> None:
    register(service)
    service.stored("a")
    deliver(service)
    service.process.crashes.arm(CrashPoint.VOID_DECIDED)
    with pytest.raises(Killed):
        service.request("POST", "/v1/orders/a/void", {})
    assert deliver(service) == 0


def test_configured_targets_follow_the_configuration(service: ServiceHarness) -> None:
    def configure(*targets: str) -> list[str]:
        with service.database.transaction() as tx:
            hooks.configure(tx, {each: f"http://{each}.test/" for each in targets}, 1)
        return [each.id for each in service.process.outbox.targets()]

    assert configure("x", "y") == ["x", "y"]
    service.draft("a")
    service.process.outbox.fan_out()
    assert configure("y") == ["y"]
    service.draft("b")
    service.process.outbox.fan_out()
    # Once restored, the target receives later entries and those that waited for it.
    assert configure("x", "y") == ["x", "y"]
    service.draft("c")
    service.process.outbox.fan_out()
    with service.database.reading() as tx:
        waiting = tx.execute(select(DeliveryRecord).where(DeliveryRecord.state == DeliveryState.WAITING)).all()
    told = {id: [row.subject_id for row in waiting if row.webhook_id == id] for id in ("x", "y")}
    assert told == {"x": ["a", "c"], "y": ["a", "b", "c"]}
    # Its secret is in the configuration of another process.
    (x, _) = service.process.outbox.targets()
    assert service.process.telling.deliver(x) == 0


def test_retirement_drops_pending_deliveries_of_the_target_only(service: ServiceHarness) -> None:
    retired, other = register(service)["webhook"], register(service)["webhook"]
    service.draft("a")
    service.process.outbox.fan_out()
    service.made(f"/v1/webhooks/{retired['id']}/retire")
    assert [row["webhook_id"] for row in service.get("/v1/deliveries")["items"]] == [other["id"]]


def test_a_retired_target_gets_no_events(service: ServiceHarness) -> None:
    made = register(service)["webhook"]
    assert service.made(f"/v1/webhooks/{made['id']}/retire")["retired"] is not None
    service.refused(404, "not_found", f"/v1/webhooks/{made['id']}/retire")
    service.draft("a")
    assert deliver(service) == 0
    for url in ("ftp://x", "http://", "http://user@x", "http://x/\0", "x"):
        assert service.refused(400, "invalid_value", "/v1/webhooks", {"url": url})["argument"] == "url"
    service.refused(403, "insufficient_role", "/v1/webhooks", {"url": URL}, role=Role.CASHIER)
