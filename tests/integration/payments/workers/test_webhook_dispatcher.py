"""The dispatcher with its threads and real sockets: targets are independent, orders in order, and stops safe."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event as sql_event
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from foreseal.payments.api import webhooks as hooks
from foreseal.payments.api.models import DeliveryRecord, DeliveryState
from foreseal.payments.api.webhooks import ConfiguredTarget
from foreseal.payments.configuration.webhook_targets import AddressPolicy, parse_networks
from foreseal.payments.workers import webhook_dispatcher
from foreseal.payments.workers.webhook_dispatcher import DispatcherSettings, WebhookDispatcher
from live.blocks import wait_for
from payments.api.service_harness import Process, ServiceHarness
from payments.webhook_receiver import WebhookReceiver

SECONDS = 60.0
LOCAL = AddressPolicy(parse_networks(["127.0.0.0/8"]))


def add(service: ServiceHarness, url: str, id: str = "hook") -> None:
    with service.database.transaction() as tx:
        hooks.register(tx, id, url, 1)


@contextmanager
def dispatching(process: Process, **settings: Any) -> Iterator[WebhookDispatcher]:
    """Run a dispatcher that may connect to local addresses."""
    chosen = DispatcherSettings(**({"configured": {}, "policy": LOCAL} | settings))
    dispatcher = WebhookDispatcher(process.outbox, chosen)
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        dispatcher.stop()


def states(service: ServiceHarness, hook: str = "hook") -> list[DeliveryState]:
    with service.database.reading() as tx:
        query = select(DeliveryRecord.state).where(DeliveryRecord.webhook_id == hook).order_by(DeliveryRecord.id)
        return list(tx.execute(query).scalars())


def test_events_arrive_concurrently_but_one_by_one_per_order(service: ServiceHarness) -> None:
    enough = asyncio.Event()
    count = 16

    async def answer(_: Any) -> int:
        if receiver.in_flight.total() >= count:
            enough.set()
        await enough.wait()
        return 200

    with WebhookReceiver(answer) as receiver:
        add(service, receiver.url)
        orders = [service.stored(f"o{number}") for number in range(count)]
        with dispatching(service.process) as dispatcher:
            dispatcher.wake()
            wait_for(lambda: receiver.finished == 3 * count, SECONDS, "all events")
        for id in orders:
            assert receiver.of(id) == ["order.created", "order.signed", "order.stored"]
        assert receiver.overlapping == []
        assert receiver.most_in_flight >= count
    assert states(service) == [DeliveryState.DELIVERED] * 3 * count


def test_result_of_a_slow_attempt_is_recorded_in_a_later_cycle(service: ServiceHarness) -> None:
    others = asyncio.Event()

    async def answer(event: Any) -> int:
        if event["data"]["object"]["id"] == "slow":
            await others.wait()
        return 200

    with WebhookReceiver(answer) as receiver:
        add(service, receiver.url)
        with dispatching(service.process) as dispatcher:
            service.draft("slow")
            wait_for(lambda: receiver.in_flight["slow"], SECONDS, "the slow attempt")
            for number in range(3):
                service.draft(f"o{number}")
                dispatcher.wake()
                wait_for(lambda n=number: states(service).count(DeliveryState.DELIVERED) > n, SECONDS, "another result")
            receiver.call(others.set)
            wait_for(lambda: states(service) == [DeliveryState.DELIVERED] * 4, SECONDS, "the result")
        assert receiver.of("slow") == ["order.created"]


def test_dead_target_delays_no_other(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_dispatcher, "_STOP_TIME", 0.1)

    async def never(_: Any) -> int:
        await asyncio.Event().wait()
        return 500

    with WebhookReceiver(never) as dead, WebhookReceiver() as healthy:
        add(service, dead.url, "dead")
        add(service, healthy.url)
        with dispatching(service.process, concurrency=4):
            for number in range(20):
                service.draft(f"o{number}")
            wait_for(lambda: healthy.finished == 20, SECONDS, "all events at the healthy target")
            wait_for(lambda: dead.in_flight.total() == 4, SECONDS, "the limit of the dead target")
            wait_for(lambda: states(service) == [DeliveryState.DELIVERED] * 20, SECONDS, "the results")
        assert dead.most_in_flight == 4
    # The stop released the claims of the attempts that did not end.
    with service.database.reading() as tx:
        rows = list(tx.execute(select(DeliveryRecord).where(DeliveryRecord.webhook_id == "dead")))
    assert {(row.state, row.leased_until, row.leased_by, row.attempts) for row in rows} == {
        (DeliveryState.WAITING, 0.0, None, 0)
    }
    assert states(service) == [DeliveryState.DELIVERED] * 20


def test_two_processes_deliver_no_order_twice_or_out_of_order(service: ServiceHarness) -> None:
    with WebhookReceiver() as receiver:
        add(service, receiver.url)
        with dispatching(service.process) as first, dispatching(service.another()) as second:
            ids = []
            for number in range(15):
                ids.append(service.stored(f"o{number}"))
                first.wake()
                second.wake()
            wait_for(lambda: receiver.finished == 45, SECONDS, "all events")
            wait_for(lambda: set(states(service)) == {DeliveryState.DELIVERED}, SECONDS, "the results")
        for id in ids:
            assert receiver.of(id) == ["order.created", "order.signed", "order.stored"]
        assert receiver.overlapping == []


def test_forbidden_address_is_a_recorded_error(service: ServiceHarness) -> None:
    with WebhookReceiver() as receiver:
        add(service, receiver.url)
        service.draft("a")
        with dispatching(service.process, policy=AddressPolicy()):

            def error() -> str | None:
                return next((row["last_error"] for row in service.get("/v1/deliveries")["items"]), None)

            message = wait_for(error, SECONDS, "a failed attempt")
        assert message.startswith("url 127.0.0.1 is not a public address")
        assert receiver.got == []


def test_configured_target_may_be_private_and_has_its_own_secret(service: ServiceHarness) -> None:
    with WebhookReceiver() as receiver:
        secrets = ("whsec_" + "A" * 32,)
        targets = {
            "x": ConfiguredTarget(receiver.url, secrets, ("order.created",), LOCAL),
            "y": ConfiguredTarget("http://127.0.0.1:1/", ()),
        }
        with service.database.transaction() as tx:
            hooks.configure(tx, targets, 1)
        service.stored("a")
        with dispatching(service.process, configured=targets, policy=AddressPolicy()):
            wait_for(lambda: receiver.finished == 1, SECONDS, "the event")
            wait_for(lambda: states(service, "x") == [DeliveryState.DELIVERED], SECONDS, "the result")
        assert receiver.of("a") == ["order.created"]
    # Nothing is attempted without a secret.
    assert states(service, "y") == [DeliveryState.WAITING] * 3


def test_target_can_be_moved_and_retired_while_it_receives(service: ServiceHarness) -> None:
    with WebhookReceiver() as old, WebhookReceiver() as new, dispatching(service.process):
        add(service, old.url)
        service.draft("a")
        wait_for(lambda: old.finished == 1, SECONDS, "an event at the old URL")
        with service.database.transaction() as tx:
            hooks.change_target(tx, "hook", new.url, None, all_events=False)
        service.draft("b")
        wait_for(lambda: new.finished == 1, SECONDS, "an event at the new URL")
        service.made("/v1/webhooks/hook/retire")
        add(service, old.url, "second")
        service.draft("c")
        wait_for(lambda: old.of("c"), SECONDS, "an event at the second target")
        assert (new.of("b"), new.of("c"), old.of("b")) == (["order.created"], [], [])


def test_database_error_loses_no_result(service: ServiceHarness) -> None:
    failures = iter([True, True])

    def fail(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("UPDATE deliveries SET state") and next(failures, False):
            raise OperationalError(statement, {}, Exception("unavailable"))

    with WebhookReceiver() as receiver:
        add(service, receiver.url)
        service.draft("a")
        sql_event.listen(service.database.engine, "before_cursor_execute", fail)
        with dispatching(service.process):
            wait_for(lambda: states(service) == [DeliveryState.DELIVERED], SECONDS, "the result")
        assert next(failures, None) is None
        assert receiver.of("a") == ["order.created"]
