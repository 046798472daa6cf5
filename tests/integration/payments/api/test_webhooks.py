"""Webhooks: at least once, in order per order, signed, despite rejections, crashes and two processes."""

import json
from datetime import datetime, tzinfo
from typing import Any
from unittest import mock

import orjson
import pytest
from sqlalchemy import event as sql_event
from sqlalchemy import select, update
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from foreseal.payments.api import webhooks as hooks
from foreseal.payments.api.events import build_events
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, RequestRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import ATTEMPTS, MAX_RETRY_DELAY, DeliveryOutcome, next_delay
from foreseal.payments.api.webhook_signature import verify
from foreseal.payments.api.webhooks import ConfiguredTarget
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger.models import TimelineRecord
from payments.api.service_harness import LEASE, Process, ServiceHarness
from payments.fake.contracts import PAYOUTS
from payments.shop import BUYER, SHOP, Killed

URL = "http://hooks.test/a"


def register(service: ServiceHarness, url: str = URL) -> Any:
    return service.made("/v1/webhooks", {"url": url})


def deliver(service: ServiceHarness, process: Process | None = None) -> int:
    """Deliver all due webhooks and return the number of attempts."""
    return (process or service.process).deliver()


def claim(process: Process, limit: int = 100) -> list[Any]:
    """Claim deliveries of the only target."""
    process.outbox.fan_out()
    (target,) = process.outbox.targets()
    return process.outbox.claim(target.hook.id, limit)


def verified(secret: str, body: bytes, headers: dict[str, str]) -> Any:
    """Return the event of a webhook, verified by the published library, whose clock is that of the signature."""

    class SignatureTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "SignatureTime":
            return cls.fromtimestamp(int(headers["webhook-timestamp"]), tz)

    with mock.patch("standardwebhooks.webhooks.datetime", SignatureTime):
        return Webhook(secret).verify(body, headers)


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
        rows = list(tx.execute(wanted))
        told = [
            (e["data"]["object"]["id"], e["type"])
            for e in build_events(tx, Views(service.backend.destinations.labels), rows)
        ]
    assert len(told) > 5
    assert entries(service) == told
    assert ("a", "order.captured") in told
    for url, body, headers in service.post.got:
        assert url == URL
        assert headers["webhook-id"] == orjson.loads(body)["id"]
        assert verified(made["secret"], body, headers)["id"] == headers["webhook-id"]
        verify(made["secret"], headers, body, service.clock())
    assert deliver(service) == 0
    newest = service.get("/v1/deliveries?limit=1")["items"][0]
    assert (newest["state"], newest["event_type"]) == ("delivered", entries(service)[-1][1])
    assert "secret" not in service.get("/v1/webhooks")["items"][0]


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
    assert (dead["attempts"], dead["object_id"], dead["event_type"]) == (ATTEMPTS, "a", "order.created")
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
    assert len(claim(service.process)) == 1
    assert deliver(service, other) == 0
    service.offset += LEASE + 1
    assert deliver(service, other) == 1
    assert entries(service) == [("a", "order.created")]


def test_two_processes_deliver_each_event_once(service: ServiceHarness) -> None:
    register(service)
    other = service.another()
    for number in range(30):
        service.draft(f"n{number}")
    service.process.outbox.fan_out()
    assert other.outbox.fan_out() == 0
    mine, rest = claim(service.process, 20), claim(other, 20)
    assert (len(mine), len(rest)) == (20, 10)
    assert not {delivery.id for delivery in mine} & {delivery.id for delivery in rest}


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
            hooks.configure(tx, {each: ConfiguredTarget(f"http://{each}.test/") for each in targets}, 1)
        return [each.hook.id for each in service.process.outbox.targets()]

    assert configure("x", "y") == ["x", "y"]
    service.draft("a")
    service.process.outbox.fan_out()
    assert configure("y") == ["y"]
    service.draft("b")
    service.process.outbox.fan_out()
    # Once restored, the target receives later entries only.
    assert configure("x", "y") == ["x", "y"]
    service.draft("c")
    service.process.outbox.fan_out()
    with service.database.reading() as tx:
        waiting = tx.execute(select(DeliveryRecord).where(DeliveryRecord.state == DeliveryState.WAITING)).all()
    told = {id: [row.subject_id for row in waiting if row.webhook_id == id] for id in ("x", "y")}
    assert told == {"x": ["c"], "y": ["a", "b", "c"]}
    # The secrets are in the configuration of another process.
    assert deliver(service) == 0


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


def test_event_has_the_whole_object_and_never_changes(service: ServiceHarness) -> None:
    register(service)
    service.captured("a")
    service.made("/v1/orders/a/refunds", {"amount": "20", "id": "r"})
    service.settle()
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    payout = service.made("/v1/payouts", {"recipients": [{"recipient": BUYER.address, "amount": "7"}]})["payout"]["id"]
    deliver(service)
    bodies = {json.loads(body)["id"]: body for _, body, _ in service.post.got}
    order = service.get("/v1/orders/a")["order"]
    events = service.get("/v1/orders/a/timeline")["items"]
    for event in events:
        event_object = dict(event["data"]["object"])
        changing = {name: event_object.pop(name) for name in ("state", "finality", "tx_status")}
        assert event_object.pop("object") == "order"
        assert (event_object["reference"], event_object["metadata"]) == (None, {})
        constant = {name: value for name, value in order.items() if name not in changing}
        assert event_object == {name: constant[name] for name in event_object}
        assert set(constant) - set(event_object) == {"last_error", "payment", "refunded", "refunded_shown"}
    states = [(e["data"]["object"]["state"], e["data"]["object"]["finality"]) for e in events]
    assert (states[0], states[-1]) == (("Drafted", None), ("Used, captured", "final"))
    events += service.get("/v1/refunds/r/timeline")["items"]
    refund = events[-1]["data"]["object"]
    assert (refund["object"], refund["amount"], refund["recipient"]) == ("refund", "20", BUYER.address)
    events += service.get(f"/v1/payouts/{payout}/timeline")["items"]
    assert events[-1]["data"]["object"]["recipients"][0]["amount"] == "7"
    # The delivered bytes, sent while the order changed, are those that the API returns now.
    assert {event["id"]: orjson.dumps(event) for event in events} == bodies
    for event in events:
        assert "previous" in event["data"]


def test_reference_and_metadata_are_in_events(service: ServiceHarness) -> None:
    service.draft("a", reference="INV 7", metadata={"cart": "3"})
    (event,) = service.get("/v1/orders/a/timeline")["items"]
    assert (event["data"]["object"]["reference"], event["data"]["object"]["metadata"]) == ("INV 7", {"cart": "3"})


def test_events_of_many_objects_need_a_constant_number_of_queries(service: ServiceHarness) -> None:
    statements: list[str] = []
    sql_event.listen(service.database.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    counts = []
    for amount in (3, 30):
        for number in range(amount):
            service.draft(f"{amount} {number}")
        with service.database.reading() as tx:
            rows = list(tx.execute(select(TimelineRecord)))
            statements.clear()
            assert len(build_events(tx, Views(service.backend.destinations.labels), rows)) >= amount
            counts.append(len(statements))
    assert counts == [1, 1]


def test_target_gets_only_the_types_that_it_wants(service: ServiceHarness) -> None:
    some = service.made("/v1/webhooks", {"url": URL, "events": ["order.stored", "order.created", "order.stored"]})
    every = register(service, "http://hooks.test/b")
    assert (some["webhook"]["events"], every["webhook"]["events"]) == (["order.created", "order.stored"], None)
    service.stored("a")
    deliver(service)
    got = [(url, json.loads(body)["type"]) for url, body, _ in service.post.got]
    assert [kind for url, kind in got if url == URL] == ["order.created", "order.stored"]
    assert len([kind for url, kind in got if url != URL]) == 3
    # An event that the target does not want is no delivery.
    assert len(service.get("/v1/deliveries")["items"]) == 5
    id = some["webhook"]["id"]
    changed = service.made(f"/v1/webhooks/{id}/update", {"events": ["order.signed"], "url": "http://hooks.test/c"})
    assert (changed["events"], changed["url"]) == (["order.signed"], "http://hooks.test/c")
    assert service.made(f"/v1/webhooks/{id}/update", {"events": ["*"]})["events"] is None
    service.post.got.clear()
    service.draft("b")
    deliver(service)
    assert sorted(url for url, _, _ in service.post.got) == ["http://hooks.test/b", "http://hooks.test/c"]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (["order.payed"], "'order.payed' is not an event type: use order.cancel_submitted, order.canceled"),
        ([], "must have at least one event type"),
        ("order.created", "'order.created' must be a list"),
        (["*", "order.created"], "is not an event type"),
        ([1], "events[0]: 1 must be a string"),
    ],
)
def test_unknown_event_types_are_rejected(service: ServiceHarness, events: Any, message: str) -> None:
    id = register(service)["webhook"]["id"]
    for path, body in (("/v1/webhooks", {"url": URL}), (f"/v1/webhooks/{id}/update", {})):
        error = service.refused(400, "invalid_value", path, body | {"events": events})
        assert error["argument"] in ("events", "events[0]")
        assert message in error["message"]


def test_test_event_goes_to_one_target_despite_its_filter(service: ServiceHarness) -> None:
    made = service.made("/v1/webhooks", {"url": URL, "events": ["order.created"]})
    register(service, "http://hooks.test/b")
    delivery = service.made(f"/v1/webhooks/{made['webhook']['id']}/test", {}, key="test")
    assert (delivery["object"], delivery["state"], delivery["attempts"]) == ("webhook", "pending", 0)
    assert deliver(service) == 1
    ((url, body, headers),) = service.post.got
    event = verified(made["secret"], body, headers)
    assert (url, event["type"], event["id"]) == (URL, "webhook.test", delivery["event_id"])
    assert event["data"]["object"]["id"] == made["webhook"]["id"]
    assert service.made(f"/v1/webhooks/{made['webhook']['id']}/test", {}, key="test") == delivery
    assert deliver(service) == 0
    service.refused(404, "not_found", "/v1/webhooks/none/test")


def test_rotated_secret_and_its_successor_both_sign_during_the_overlap(service: ServiceHarness) -> None:
    made = register(service)
    path = f"/v1/webhooks/{made['webhook']['id']}/rotate-secret"
    rotated = service.made(path, {"overlap_seconds": 100}, key="rotate")
    assert rotated["webhook"]["previous_secret_expires"] == int(service.clock()) + 100
    assert service.made(path, {"overlap_seconds": 100}, key="rotate") == rotated
    service.draft("a")
    deliver(service)
    ((_, body, headers),) = service.post.got
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (made["secret"], rotated["secret"]):
        assert verified(secret, body, headers)["type"] == "order.created"
        verify(secret, headers, body, service.clock())
    service.offset += 100
    service.post.got.clear()
    service.draft("b")
    deliver(service)
    ((_, body, headers),) = service.post.got
    assert verified(rotated["secret"], body, headers)["type"] == "order.created"
    with pytest.raises(WebhookVerificationError):
        verified(made["secret"], body, headers)
    assert service.made(path, {"overlap_seconds": 0})["webhook"]["previous_secret_expires"] is None
    assert service.made(path)["webhook"]["previous_secret_expires"] == int(service.clock()) + 86_400
    for wrong in (-1, 30 * 86_400 + 1, "x"):
        error = service.refused(400, "invalid_value", path, {"overlap_seconds": wrong})
        assert error["argument"] == "overlap_seconds"
    service.refused(404, "not_found", "/v1/webhooks/none/rotate-secret")


def test_repeated_rotation_after_a_crash_returns_the_same_secret(service: ServiceHarness) -> None:
    made = register(service)
    path = f"/v1/webhooks/{made['webhook']['id']}"
    for action in ("rotate-secret", "test"):
        first = service.made(f"{path}/{action}", {}, key=action)
        with service.database.transaction() as tx:  # the process died before it stored the response
            mine = RequestRecord.key == action
            tx.execute(
                update(RequestRecord).where(mine).values({RequestRecord.status: None, RequestRecord.answer: None})
            )
        service.offset += LEASE + 1
        assert service.made(f"{path}/{action}", {}, key=action) == first


def test_configured_target_is_changed_in_its_file_only(service: ServiceHarness) -> None:
    with service.database.transaction() as tx:
        target = ConfiguredTarget("http://x.test/", events=("order.created",))
        hooks.configure(tx, {"x": target}, 1)
        hooks.configure(tx, {"x": target}, 2)
    assert service.get("/v1/webhooks")["items"][0]["events"] == ["order.created"]
    for action, body in (("rotate-secret", {}), ("update", {"url": URL})):
        error = service.refused(409, "not_allowed", f"/v1/webhooks/x/{action}", body)
        assert "pay.toml" in error["message"]


def test_claims_of_a_restarted_process_are_free_at_once(service: ServiceHarness) -> None:
    register(service)
    service.draft("a")
    service.draft("b")
    other = service.another()
    assert len(claim(service.process, 1)) == len(claim(other, 1)) == 1
    service.restart()
    assert deliver(service) == 0
    with service.database.transaction() as tx:
        hooks.release_leases(tx, "a")
    assert deliver(service) == 1
    # The claims of the other process remain.
    assert len(service.get("/v1/deliveries?state=pending")["items"]) == 1


def test_result_of_a_lost_claim_is_ignored(service: ServiceHarness) -> None:
    register(service)
    service.draft("a")
    other = service.another()
    (mine,) = claim(service.process)
    service.offset += LEASE + 1
    (taken,) = claim(other)
    for outcome in (DeliveryOutcome(mine), DeliveryOutcome(mine, "late")):
        service.process.outbox.record([outcome])
        (row,) = service.get("/v1/deliveries")["items"]
        assert (row["state"], row["attempts"]) == ("pending", 0)
    other.outbox.record([DeliveryOutcome(taken)])
    assert service.get("/v1/deliveries")["items"][0]["state"] == "delivered"


def test_one_delivery_per_order_is_claimed_even_after_a_retry(service: ServiceHarness) -> None:
    register(service)
    service.stored("a")
    (first,) = claim(service.process)
    assert claim(service.process) == []
    service.process.outbox.record([DeliveryOutcome(first, "no", is_gone=False)])
    with service.database.transaction() as tx:
        tx.execute(update(DeliveryRecord).where(DeliveryRecord.id == first.id).values(state=DeliveryState.DEAD))
    service.offset += MAX_RETRY_DELAY
    (second,) = claim(service.process)
    assert second.event_id > first.event_id
    # The earlier one is revived while the later one is in progress.
    service.made(f"/v1/deliveries/{first.id}/retry")
    assert claim(service.process) == []
    service.process.outbox.record([DeliveryOutcome(second)])
    assert [delivery.id for delivery in claim(service.process)] == [first.id]


def test_later_deliveries_are_due_with_the_failed_one(service: ServiceHarness) -> None:
    register(service)
    service.stored("a")
    service.draft("b")
    service.post.status = lambda _: 500
    deliver(service)
    with service.database.reading() as tx:
        due = {row.subject_id: set() for row in tx.execute(select(DeliveryRecord))}
        for row in tx.execute(select(DeliveryRecord)):
            due[row.subject_id].add(row.next_attempt)
    assert due == {"a": {service.clock() + 1}, "b": {service.clock() + 1}}


def test_documented_retry_times() -> None:
    delays = [next_delay(attempts) for attempts in range(1, ATTEMPTS)]
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]
    assert sum(delays) == 14_895 == 4 * 3_600 + 8 * 60 + 15
    assert next_delay(1, 90) == 90
    assert next_delay(10, 90) == 512
    assert next_delay(1, 1e9) == MAX_RETRY_DELAY


def test_target_that_is_gone_is_retired_with_its_backlog(service: ServiceHarness) -> None:
    webhook = register(service)["webhook"]["id"]
    with service.database.transaction() as tx:
        hooks.configure(tx, {"x": ConfiguredTarget("http://x.test/")}, 1)
    service.stored("a")
    service.post.status = lambda _: 410
    assert deliver(service) == 1
    retired = {row["id"]: row["retired"] for row in service.get("/v1/webhooks")["items"]}
    assert (retired[webhook], retired["x"]) == (int(service.clock()), None)
    states = [row["state"] for row in service.get(f"/v1/deliveries?webhook={webhook}")["items"]]
    assert states == ["dead"]


def test_overloaded_target_is_left_alone_as_long_as_it_requests(service: ServiceHarness) -> None:
    register(service)
    for name in "abc":
        service.draft(name)
    service.post.status = lambda _: 429
    service.post.retry_after = "120"
    assert deliver(service) == 3
    service.draft("d")
    service.post.status = lambda _: 200
    service.offset += 119
    assert deliver(service) == 0
    service.offset += 1
    assert deliver(service) == 4


def test_url_of_a_private_network_is_rejected(service: ServiceHarness) -> None:
    id = register(service)["webhook"]["id"]
    for path in ("/v1/webhooks", f"/v1/webhooks/{id}/update"):
        for url in ("http://127.0.0.1/", "http://localhost:8080/", "http://[::1/", "http://169.254.169.254/latest"):
            error = service.refused(400, "invalid_value", path, {"url": url})
            assert error["argument"] == "url"
            assert error["message"].startswith("url ")
