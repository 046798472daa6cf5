"""The service with a batch capture contract: groups of payments, failed items, the export, and crashes."""

import contextlib
import csv
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from foreseal.payments.api.roles import Role
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.typed_data import ReceiveAuthorization, random_nonce
from payments.api.service_harness import ServiceHarness
from payments.people import BATCH_CAPTURE
from payments.scan import captured_by_contract, received
from payments.shop import BUYER, BUYERS, FUNDS, Killed

BATCH = "/v1/payments/batch"
# Points that a payment with a capture passes.
POINTS = (
    CrashPoint.CAPTURE_CHECKED,
    CrashPoint.CAPTURE_DECIDED,
    CrashPoint.CAPTURE_STORED,
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.TRANSACTION_NOTED,
)


@pytest.fixture
def batching(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a service whose merchant has a batch capture contract."""
    one = ServiceHarness(url, tmp_path, f'batch_capture = "{BATCH_CAPTURE}"')
    yield one
    one.close()


def payment(service: ServiceHarness, id: str, amount: int, buyer: LocalAccount = BUYER) -> Any:
    until = service.pending_time() + 600
    signed = ReceiveAuthorization(buyer.address, BATCH_CAPTURE, amount, 0, until, random_nonce())
    signature = signed.sign(service.backend.destinations.default.merchant.domain, bytes(buyer.key))
    return {
        "id": id,
        "payer": buyer.address,
        "amount": str(amount),
        "valid_before": until,
        "nonce": "0x" + signed.nonce.hex(),
        "signature": "0x" + signature.hex(),
        "capture": True,
    }


def group(service: ServiceHarness) -> dict[str, Any]:
    """Return a request with a payment of each buyer."""
    return {"payments": [payment(service, f"p{at}", 100 + at, buyer) for at, buyer in enumerate(BUYERS)]}


def wait(done: Callable[[], bool]) -> None:
    """Wait for the queue's thread, which sends after the response."""
    for _ in range(2_000):
        if done():
            return
        threading.Event().wait(0.005)
    raise AssertionError("the queue's thread did not come so far")


def test_group_is_one_transaction_with_a_row_for_each_payment(batching: ServiceHarness) -> None:
    service = batching
    items = service.made(BATCH, group(service))["items"]
    assert [item["status"] for item in items] == [201] * 3
    assert {item["order"]["payee"] for item in items} == {BATCH_CAPTURE}
    wait(lambda: service.state("p2") == "Stored, unused / broadcast")
    service.chain.step()
    service.run_pass()
    assert {service.state(f"p{at}") for at in range(3)} == {"Used, captured / provisional"}
    service.settle()
    details = [service.get(f"/v1/orders/p{at}") for at in range(3)]
    assert {detail["order"]["finality"] for detail in details} == {"final"}
    (transaction,) = details[0]["transactions"]
    assert (transaction["purpose"], transaction["result"]) == ("capture_batch", "included")
    assert [detail["transactions"] for detail in details] == [[transaction]] * 3
    text = service.request("GET", "/v1/export.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    chain = captured_by_contract(service.chain)
    assert [(row["kind"], row["order_id"], int(row["log_index"]), int(row["amount"])) for row in rows] == [
        ("captured", f"p{at}", each.log_index, each.amount) for at, each in enumerate(chain)
    ]
    assert {row["account"] for row in rows} == {buyer.address for buyer in BUYERS}
    balance, sums = service.balance()
    assert (sums["received"], sums["captured"], sums["unmatched"], balance["faults"]) == ("303", "303", "0", [])
    assert [each.amount for each in received(service.chain)] == [303]


def test_worker_fails_a_rejected_item_which_is_captured_again(batching: ServiceHarness) -> None:
    service, poor = batching, BUYERS[1]
    service.made(BATCH, group(service))
    wait(lambda: service.state("p2") == "Stored, unused / broadcast")
    service.chain.change(lambda state: state.balances.update({poor.address.lower(): 0}))
    service.settle()
    assert [service.state(f"p{at}") for at in range(3)] == [
        "Used, captured / final",
        "Stored, unused / failed",
        "Used, captured / final",
    ]
    event = service.get("/v1/orders/p1/timeline")["items"][-1]
    assert event["type"] == "order.transaction_failed"
    assert event["data"]["details"]["message"] == "ERC20: transfer amount exceeds balance"
    service.chain.change(lambda state: state.balances.update({poor.address.lower(): FUNDS}))
    service.made("/v1/orders/p1/capture")
    service.settle()
    assert service.state("p1") == "Used, captured / final"
    assert service.balance()[1]["captured"] == "303"


def test_created_order_names_the_contract_and_is_captured_by_it(batching: ServiceHarness) -> None:
    service = batching
    made = service.draft("a", 700)
    assert made["typed_data"]["message"]["to"] == BATCH_CAPTURE
    service.captured("b", 500)
    assert [each.amount for each in captured_by_contract(service.chain)] == [500]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_crash_at_any_point_captures_each_payment_once(batching: ServiceHarness, point: CrashPoint) -> None:
    service = batching
    body = group(service)
    headers = {"authorization": f"Bearer {service.keys[Role.CASHIER]}", "idempotency-key": "k"}
    service.process.crashes.arm(point)
    with contextlib.suppress(Killed):
        service.process.request("POST", BATCH, json=body, headers=headers)
    wait(lambda: service.process.crashes.armed is None)
    service.chain.mine()
    service.restart()
    items = service.made(BATCH, body, key="k")["items"]
    assert [item["status"] for item in items] == [201] * 3
    service.settle()
    assert [each.amount for each in captured_by_contract(service.chain)] == [100, 101, 102]
    assert {service.state(f"p{at}") for at in range(3)} == {"Used, captured / final"}
    assert service.get("/v1/balance")["faults"] == []
