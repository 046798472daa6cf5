"""Orders that are captured as soon as their signature is stored."""

from typing import Any

import pytest

from foreseal.payments.api.roles import Role
from foreseal.payments.crash_points import CrashPoint
from payments.api.service_harness import ServiceHarness
from payments.scan import received
from payments.shop import BUYER, Killed

POINTS = (
    CrashPoint.CAPTURE_CHECKED,
    CrashPoint.CAPTURE_DECIDED,
    CrashPoint.CAPTURE_STORED,
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.TRANSACTION_NOTED,
)


def _sign(service: ServiceHarness, id: str, **more: Any) -> Any:
    body = {"signature": service.signature(id)}
    return service.made(f"/v1/orders/{id}/signature", body, role=Role.CASHIER, **more)


def _amounts(service: ServiceHarness) -> list[int]:
    return sorted(each.amount for each in received(service.chain))


def test_signature_captures_the_order(service: ServiceHarness) -> None:
    assert service.draft("a", auto_capture=True)["order"]["auto_capture"] is True
    signed = _sign(service, "a", key="k")
    assert (signed["order"]["state"], signed["order"]["tx_status"]) == ("Stored, unused", "intended")
    assert (len(signed["transactions"]), signed["capture_error"]) == (1, None)
    assert _sign(service, "a", key="k") == signed
    assert _sign(service, "a")["capture_error"] is None
    service.settle()
    assert service.state("a") == "Used, captured / final"
    assert _amounts(service) == [500]
    assert service.draft("b")["order"]["auto_capture"] is False
    stored = _sign(service, "b")
    assert (stored["transactions"], stored["capture_error"]) == ([], None)
    service.settle()
    assert service.state("b") == "Stored, unused / idle"


def test_obstacle_leaves_the_signature_and_is_retried(service: ServiceHarness) -> None:
    service.draft("a", auto_capture=True)
    service.chain.change(lambda state: setattr(state, "paused", True))
    signed = _sign(service, "a")
    assert (signed["capture_error"]["code"], signed["capture_error"]["reason"]) == ("not_capturable", "token_paused")
    assert signed["order"]["state"] == "Stored, unused"
    message = "orders: a cannot be captured: token is paused"
    assert (signed["order"]["last_error"], signed["capture_error"]["message"]) == (message, message)
    service.run_pass()
    assert service.get("/v1/orders/a")["order"]["last_error"] == message
    service.chain.change(lambda state: setattr(state, "paused", False))
    service.settle()
    assert service.state("a") == "Used, captured / final"
    assert service.get("/v1/orders/a")["order"]["last_error"] is None
    assert _amounts(service) == [500]


def test_voided_order_is_not_captured_by_the_worker(service: ServiceHarness) -> None:
    service.draft("a", 10**9, auto_capture=True)
    assert _sign(service, "a")["capture_error"]["reason"] == "insufficient_balance"
    service.made("/v1/orders/a/void", {})
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 10**10}))
    service.settle()
    assert service.state("a") == "Voided offchain / idle"
    assert _amounts(service) == []


def test_unsent_capture_is_left_to_the_worker(service: ServiceHarness) -> None:
    service.draft("a", auto_capture=True)
    service.node.losses += [("eth_sendRawTransaction", False)]
    assert _sign(service, "a")["order"]["tx_status"] == "intended"
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_unresponsive_node_stores_nothing_and_the_key_stays_free(service: ServiceHarness) -> None:
    service.draft("a", auto_capture=True)
    service.node.losses += [("eth_getCode", False)]
    body = {"signature": service.signature("a")}
    service.refused(503, "node_unreachable", "/v1/orders/a/signature", body, key="k")
    assert service.state("a") == "Drafted / idle"
    assert _sign(service, "a", key="k")["capture_error"] is None
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_signature_is_stored_if_the_node_answers_only_for_the_payer(service: ServiceHarness) -> None:
    service.draft("a", auto_capture=True)
    service.node.losses += [("eth_estimateGas", False)]
    assert _sign(service, "a")["capture_error"]["code"] == "node_unreachable"
    assert service.state("a") == "Stored, unused / idle"
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_order_is_not_captured_before_it_is_valid(service: ServiceHarness) -> None:
    start = service.pending_time() + 1_000
    service.draft("a", auto_capture=True, valid_after=start, valid_before=start + 10_000)
    assert _sign(service, "a")["capture_error"]["reason"] == "not_yet_valid"
    assert service.backend.destinations.default.auto_captures.waiting() == []
    service.chain.mine(gap=1_001)
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_maximum_excludes_auto_capture(service: ServiceHarness) -> None:
    body = {"payer": BUYER.address, "maximum": "5", "auto_capture": True}
    error = service.refused(400, "invalid_value", "/v1/orders", body)
    assert (error["argument"], error["message"]) == (
        "auto_capture",
        "auto_capture: an order with a maximum needs a capture request with its amount",
    )
    assert service.ids() == []


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_crash_at_any_point_captures_the_order_once(service: ServiceHarness, point: CrashPoint) -> None:
    service.draft("a", auto_capture=True)
    service.process.crashes.arm(point)
    with pytest.raises(Killed):
        _sign(service, "a", key="k")
    service.chain.mine()
    service.restart()
    service.settle()
    # Signature and capture are stored together, with the response.
    stored = point not in (CrashPoint.CAPTURE_CHECKED, CrashPoint.CAPTURE_DECIDED)
    assert service.state("a") == ("Used, captured / final" if stored else "Drafted / idle")
    assert _sign(service, "a", key="k")["capture_error"] is None
    service.settle()
    assert service.state("a") == "Used, captured / final"
    assert _amounts(service) == [500]
