"""One service with two payee keys for one token: captures, rotation, a removed destination, refunds and payouts."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from foreseal.payments.api.roles import Role
from foreseal.payments.chain import NoResponse
from foreseal.payments.disbursements.payouts import read_payees
from foreseal.payments.ledger.models import AttemptRecord, PayoutRecord, TransactionRecord
from foreseal.payments.orders.authorizations import OrderTerms
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payments import CheckedPayment, NewPayment
from foreseal.payments.transactions import SignerUnavailable, WrongAccount
from foreseal.payments.transactions.signer import LocalSigner
from foreseal.payments.transfers.watcher import TransferWatcher
from payments.api.monitored import MonitoredService
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.fake.blocks import decoded
from payments.fake.contracts import PAYOUTS, TOKEN, call_data
from payments.people import BATCH_CAPTURE, BRANCH
from payments.shop import ADDRESS, BUYER, BUYERS, FUNDS, SHOP

BATCH = "/v1/payments/batch"
PLACES = ["default", "branch", "branch", "default", "branch", "default"]
BRANCH_SECTION = f"""
[[destinations]]
name = "branch"
payouts = "{PAYOUTS}"
[destinations.payee]
key_env = "BRANCH_KEY"
"""


@pytest.fixture
def two(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a service with the default payee and the payee of a branch."""
    one = ServiceHarness(url, tmp_path, BRANCH_SECTION)
    yield one
    one.close()


def reconfigure(service: ServiceHarness, more: str = "", payee: str = "SHOP_KEY") -> None:
    """Start the service with another configuration."""
    service.configure(more, payee)
    service.restart()


def signers(service: ServiceHarness) -> dict[str, set[str]]:
    """Return the accounts that signed the transactions of each subject, recovered from the stored bytes."""
    query = select(TransactionRecord.subject, AttemptRecord.raw).join(
        AttemptRecord, AttemptRecord.transaction_id == TransactionRecord.id
    )
    senders: dict[str, set[str]] = {}
    with service.database.reading() as tx:
        for subject, raw in tx.execute(query):
            senders.setdefault(subject, set()).add(decoded(bytes(raw)).sender)
    return senders


def signer_of(service: ServiceHarness, id: str) -> str:
    (signer,) = signers(service)[id]
    return {SHOP.address.lower(): "shop", BRANCH.address.lower(): "branch"}[signer]


def nonces(service: ServiceHarness) -> dict[str, list[int]]:
    """Return the account nonces of the stored transactions of each sender."""
    query = select(TransactionRecord.sender, TransactionRecord.account_nonce).order_by(TransactionRecord.id)
    by_sender: dict[str, list[int]] = {}
    with service.database.reading() as tx:
        for sender, nonce in tx.execute(query):
            by_sender.setdefault(sender, []).append(nonce)
    return by_sender


def sums(service: ServiceHarness) -> dict[str, Any]:
    """Return the sums by destination; the ledger must have no contradictions."""
    balance = service.get("/v1/balance")
    assert balance["faults"] == []
    return {each["destination"]: each for each in balance["destinations"]}


def exported(service: ServiceHarness) -> list[dict[str, str]]:
    text = service.request("GET", "/v1/export.csv", role=Role.READER).text
    return list(csv.DictReader(io.StringIO(text)))


def transfer(service: ServiceHarness, recipient: str, amount: int) -> str:
    """Transfer to an account as a buyer and return the hash."""
    data = call_data("transfer(address,uint256)", recipient, amount)
    sent = service.chain.inject(BUYER.address.lower(), TOKEN, data)
    service.chain.mine()
    return str(sent.hash)


def test_interleaved_captures_use_the_nonces_of_each_key(two: ServiceHarness) -> None:
    for number, place in enumerate(PLACES):
        more = {} if place == "default" else {"destination": place}
        two.stored(f"o{number}", 100 + number, BUYERS[number % 3], **more)
    for number in (1, 0, 2, 4, 3, 5):
        two.made(f"/v1/orders/o{number}/capture")
    items = [payment(two, f"p{at}", 10, BUYERS[at % 3], destination=each) for at, each in enumerate(PLACES)]
    assert {each["status"] for each in two.made(BATCH, {"payments": items})["items"]} == {201}
    two.settle()
    for number, place in enumerate(PLACES):
        for id in (f"o{number}", f"p{number}"):
            assert two.state(id) == "Used, captured / final"
            assert signer_of(two, id) == ("shop" if place == "default" else "branch")
    assert nonces(two) == {SHOP.address: list(range(6)), BRANCH.address: list(range(6))}
    balances = two.chain.latest.state.balances
    by_destination = sums(two)
    assert by_destination["default"]["captured"] == str(100 + 103 + 105 + 30) == str(balances[SHOP.address.lower()])
    assert by_destination["branch"]["captured"] == str(101 + 102 + 104 + 30) == str(balances[BRANCH.address.lower()])
    assert sum(balances[buyer.address.lower()] for buyer in BUYERS) == 3 * FUNDS - 675


def test_orders_name_their_destination_and_are_filtered_by_it(two: ServiceHarness) -> None:
    first = two.draft("a")["order"]
    second = two.draft("b", destination="branch")
    assert (first["destination"], first["payee"]) == ("default", SHOP.address)
    order = second["order"]
    place = {"destination": "branch", "token": ADDRESS, "symbol": "USDC", "payee": BRANCH.address}
    assert place.items() <= order.items()
    assert second["typed_data"]["message"]["to"] == BRANCH.address
    for name, ids in (("default", ["a"]), ("branch", ["b"])):
        assert [each["id"] for each in two.get(f"/v1/orders?destination={name}")["items"]] == ids
    response = two.request("GET", "/v1/orders?destination=brunch")
    assert (response.status_code, response.json()["error"]["argument"]) == (400, "destination")


@pytest.mark.parametrize(
    ("path", "body", "argument"),
    [
        ("/v1/orders", lambda two: {"payer": BUYER.address, "amount": "1"}, "destination"),
        ("/v1/payments", lambda two: payment(two, "a"), "destination"),
        ("/v1/payouts", lambda two: {"recipients": [{"recipient": BUYER.address, "amount": "1"}]}, "destination"),
    ],
)
@pytest.mark.sqlite_only
def test_unknown_destination_is_rejected(
    two: ServiceHarness, path: str, body: Callable[[ServiceHarness], Any], argument: str
) -> None:
    error = two.refused(400, "invalid_value", path, body(two) | {"destination": "brunch"})
    message = f"{argument}: 'brunch' is not configured, expected one of default, branch"
    assert (error["argument"], error["message"]) == (argument, message)


def test_mixed_group_needs_three_batches(two: ServiceHarness) -> None:
    items = [payment(two, f"p{at}", 5, BUYERS[at], destination=each) for at, each in enumerate(PLACES[:3])]
    groups = two.backend.payments
    before = two.batches.asked
    checked = groups.check([new_payment(two, item) for item in items])
    # The codes of the payers, then all checks.
    assert two.batches.asked - before == 2
    with two.database.transaction() as tx:
        stored = groups.store(tx, [each for each in checked if isinstance(each, CheckedPayment)])
    done = [each for each in stored if isinstance(each, StoredOrder)]
    assert [each.order.payee for each in done] == [SHOP.address, BRANCH.address, BRANCH.address]
    groups.send(done)
    assert two.batches.asked - before == 3
    two.settle()
    assert [two.state(f"p{at}") for at in range(3)] == ["Used, captured / final"] * 3


def new_payment(service: ServiceHarness, body: Any) -> NewPayment:
    terms = OrderTerms(body["payer"], int(body["amount"]), 0, body["valid_before"], bytes.fromhex(body["nonce"][2:]))
    payments = service.backend.destinations.get(body["destination"]).payments
    return payments.new(body["id"], terms, bytes.fromhex(body["signature"][2:]), capture=True)


def test_unknown_destination_of_an_item_rejects_the_batch(two: ServiceHarness) -> None:
    items = [payment(two, "x"), payment(two, "y") | {"destination": "brunch"}]
    error = two.refused(400, "invalid_value", BATCH, {"payments": items})
    assert error["argument"] == "payments[1].destination"
    assert error["message"].startswith("payments[1].destination: 'brunch' is not configured")
    assert two.ids() == []


def test_authorization_for_another_payee_is_rejected(two: ServiceHarness) -> None:
    body = payment(two, "a", destination="branch")
    error = two.refused(422, "invalid_signature", "/v1/payments", body | {"destination": "default"})
    assert error["argument"] == "signature"
    assert two.ids() == []


def test_key_without_its_signer_stops_its_own_payments_only(
    two: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = LocalSigner.sign

    def unavailable(self: LocalSigner, *values: Any) -> Any:
        if self.address == BRANCH.address:
            raise SignerUnavailable("the signer does not answer")
        return sign(self, *values)

    items = [payment(two, "a", 5), payment(two, "b", 5, destination="branch"), payment(two, "c", 5)]
    with monkeypatch.context() as patch:
        patch.setattr(LocalSigner, "sign", unavailable)
        answers = two.made(BATCH, {"payments": items})["items"]
    assert [each["status"] for each in answers] == [201, 503, 201]
    assert answers[1]["error"]["code"] == "signer_unavailable"
    assert two.ids() == ["a", "c"]
    assert two.made("/v1/payments", items[1])["order"]["destination"] == "branch"
    two.settle()
    assert nonces(two) == {SHOP.address: [0, 1], BRANCH.address: [0]}


def test_order_of_a_rotated_key_is_captured_and_refunded_by_it(service: ServiceHarness) -> None:
    service.captured("paid", 300)
    service.stored("open", 200)
    rotated = '[[destinations]]\nname = "old"\n[destinations.payee]\nkey_env = "SHOP_KEY"\n'
    reconfigure(service, rotated, payee="BRANCH_KEY")
    service.stored("new", 50)
    service.made("/v1/orders/open/capture")
    service.made("/v1/orders/new/capture")
    service.made("/v1/orders/paid/refunds", {"id": "r", "amount": "120"})
    service.settle()
    assert [service.state(id) for id in ("open", "new")] == ["Used, captured / final"] * 2
    assert {id: signer_of(service, id) for id in ("paid", "open", "new", "r")} == {
        "paid": "shop",
        "open": "shop",
        "new": "branch",
        "r": "shop",
    }
    refund = service.get("/v1/refunds/r")["refund"]
    assert (refund["state"], refund["destination"], refund["payee"]) == ("Complete", "old", SHOP.address)
    by_destination = sums(service)
    assert (by_destination["old"]["captured"], by_destination["old"]["refunded"]) == ("500", "120")
    assert (by_destination["default"]["captured"], by_destination["default"]["payees"]) == ("50", [BRANCH.address])
    assert service.get("/v1/orders/paid")["order"]["destination"] == "old"


def test_order_of_a_removed_destination_is_served_and_never_captured(two: ServiceHarness) -> None:
    until = two.pending_time() + 5_000
    two.stored("left", 200, destination="branch", valid_before=until)
    later = two.pending_time() + 1_000
    two.stored("auto", 60, destination="branch", auto_capture=True, valid_after=later, valid_before=later + 9_000)
    two.stored("void", 70, destination="branch")
    two.captured("mine", 10)
    reconfigure(two)
    order = two.get("/v1/orders/left")["order"]
    assert (order["destination"], order["symbol"], order["payee"]) == (None, "USDC", BRANCH.address)
    error = two.refused(409, "destination_not_configured", "/v1/orders/left/capture")
    assert BRANCH.address in error["message"]
    assert ADDRESS in error["message"]
    two.refused(409, "destination_not_configured", "/v1/orders/left/cancel", {"signature": "0x" + "11" * 65})
    two.made("/v1/orders/void/void")
    two.chain.mine(gap=1_100)
    two.settle()
    assert (two.state("left"), two.state("auto")) == ("Stored, unused / idle", "Stored, unused / idle")
    assert "not yet valid" in two.get("/v1/orders/auto")["order"]["last_error"]
    assert set(signers(two)) == {"mine"}
    monitored = MonitoredService(two)
    health = monitored.health()
    assert (health["status"], health["orders_without_destination"]) == ("degraded", 3)
    assert [each["code"] for each in health["reasons"]] == ["orders_without_destination"]
    monitored.close()
    two.chain.mine(gap=6_000)
    two.settle()
    assert two.state("left") == "Expired / idle"
    reconfigure(two, BRANCH_SECTION)
    two.settle()
    assert (two.state("auto"), signer_of(two, "auto")) == ("Used, captured / final", "branch")


def test_capture_in_flight_continues_when_its_destination_returns(two: ServiceHarness) -> None:
    two.stored("a", 30, destination="branch")
    two.node.losses += [("eth_sendRawTransaction", False)]
    two.made("/v1/orders/a/capture")
    reconfigure(two)
    two.settle()
    assert two.state("a") != "Used, captured / final"
    assert two.chain.latest.state.nonces.get(BRANCH.address.lower(), 0) == 0
    reconfigure(two, BRANCH_SECTION)
    two.settle()
    assert two.state("a") == "Used, captured / final"
    assert nonces(two) == {BRANCH.address: [0]}


def test_unmatched_transfer_is_refunded_by_the_payee_that_has_it(two: ServiceHarness) -> None:
    hash = transfer(two, BRANCH.address, 70)
    two.settle()
    (entry,) = two.get("/v1/unmatched-transfers")["items"]
    assert (entry["transaction_hash"], entry["destination"], entry["payee"]) == (hash, "branch", BRANCH.address)
    path = f"/v1/unmatched-transfers/{hash}/{entry['position']}/refund"
    error = two.refused(400, "invalid_value", path, {"destination": "default"})
    assert error["argument"] == "destination"
    refund = two.made(path, {"id": "r", "destination": "branch"})["refund"]
    assert (refund["destination"], refund["payee"]) == ("branch", BRANCH.address)
    two.settle()
    assert signer_of(two, "r") == "branch"
    assert (sums(two)["branch"]["refunded"], sums(two)["default"]["refunded"]) == ("70", "0")


def test_payout_is_sent_by_the_named_payee(two: ServiceHarness) -> None:
    two.captured("a", 100)
    two.made(BATCH, {"payments": [payment(two, "b", 90, destination="branch")]})
    two.settle()
    key = (BRANCH.address.lower(), PAYOUTS)
    two.chain.change(lambda state: state.allowances.update({key: 10**9}))
    body = {"recipients": [{"recipient": BUYERS[1].address, "amount": "7"}], "reference": "0x" + "77" * 32}
    two.refused(409, "not_funded", "/v1/payouts", body)
    made = two.made("/v1/payouts", body | {"destination": "branch"})["payout"]
    assert (made["destination"], made["payee"]) == ("branch", BRANCH.address)
    two.refused(409, "duplicate", "/v1/payouts", body)
    two.settle()
    assert signer_of(two, made["id"]) == "branch"
    with two.database.reading() as tx:
        ids = list(tx.execute(select(PayoutRecord.id)).scalars())
        assert read_payees(tx, ids) == {made["id"]: BRANCH.address}
    rows = {(row["kind"], row["destination"], row["payee"], row["amount"]) for row in exported(two)}
    assert rows == {
        ("captured", "default", SHOP.address, "100"),
        ("captured", "branch", BRANCH.address, "90"),
        ("paid_out", "branch", BRANCH.address, "7"),
    }


def test_reserved_payout_is_sent_later_by_its_payee(two: ServiceHarness) -> None:
    two.made("/v1/payments", payment(two, "b", 90, destination="branch"))
    two.settle()
    key = (BRANCH.address.lower(), PAYOUTS)
    two.chain.change(lambda state: state.allowances.update({key: 10**9}))
    body = {"recipients": [{"recipient": BUYERS[1].address, "amount": "7"}], "destination": "branch"}
    # The estimate before the first transaction fails, when the payout is already reserved.
    two.node.losses += [("eth_estimateGas", False)]
    two.refused(503, "node_unreachable", "/v1/payouts", body)
    two.settle()
    (payout,) = two.get("/v1/payouts")["items"]
    assert (payout["state"], payout["payee"]) == ("Complete", BRANCH.address)
    assert signer_of(two, payout["id"]) == "branch"


def test_payouts_need_the_contract_of_their_destination(url: str, tmp_path: Path) -> None:
    service = ServiceHarness(url, tmp_path, BRANCH_SECTION.replace(f'payouts = "{PAYOUTS}"\n', ""))
    try:
        body = {"recipients": [{"recipient": BUYER.address, "amount": "7"}], "destination": "branch"}
        error = service.refused(409, "payouts_not_configured", "/v1/payouts", body)
        assert "'branch'" in error["message"]
        error = service.refused(
            409,
            "checkout_not_configured",
            "/v1/orders",
            {"payer": BUYER.address, "maximum": "7", "destination": "branch"},
        )
        assert error["argument"] == "maximum"
    finally:
        service.close()


def test_orders_of_a_removed_batch_contract_keep_their_payee(url: str, tmp_path: Path) -> None:
    contract = f'batch_capture = "{BATCH_CAPTURE}"'
    service = ServiceHarness(url, tmp_path, contract)
    try:
        for id in ("paid", "open"):
            service.stored(id, 100)
        service.made("/v1/orders/paid/capture")
        service.settle()
        reconfigure(service)
        service.refused(409, "destination_not_configured", "/v1/orders/open/capture")
        # The key that signed the capture still has the money.
        service.made("/v1/orders/paid/refunds", {"id": "r", "amount": "40"})
        service.settle()
        assert (service.get("/v1/refunds/r")["refund"]["state"], signer_of(service, "r")) == ("Complete", "shop")
    finally:
        service.close()


def test_health_reports_the_payee_of_each_destination(two: ServiceHarness) -> None:
    monitored = MonitoredService(two)
    two.node.ether[BRANCH.address] = 0
    health = monitored.health()
    shown = [(each["name"], each["payee"]["address"], each["payee"]["status"]) for each in health["destinations"]]
    assert shown == [("default", SHOP.address, "ok"), ("branch", BRANCH.address, "empty")]
    assert (health["status"], [each["code"] for each in health["reasons"]]) == ("degraded", ["payee_empty"])
    assert BRANCH.address in health["reasons"][0]["message"]
    text = monitored.get("/metrics").text
    assert f'foreseal_pay_payee_balance_wei{{payee="{BRANCH.address}"}} 0' in text
    two.node.ether[SHOP.address] = 0
    assert monitored.health()["status"] == "unhealthy"
    monitored.close()


def test_watcher_of_one_destination_does_not_stop_the_others(
    two: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = TransferWatcher.poll

    def failing(self: TransferWatcher) -> None:
        if self is two.process.worker._watchers[0]:
            raise NoResponse("the node does not answer for this token")
        poll(self)

    two.made("/v1/payments", payment(two, "b", 90, destination="branch"))
    transfer(two, BRANCH.address, 7)
    with monkeypatch.context() as patch:
        patch.setattr(TransferWatcher, "poll", failing)
        two.process.worker.run_pass()
    assert two.process.worker.state.errors == 1
    assert two.process.worker.state.read is None
    (entry,) = two.get("/v1/unmatched-transfers")["items"]
    assert entry["destination"] == "branch"
    two.settle()
    assert two.state("b") == "Used, captured / final"


def test_signer_of_another_account_never_signs_a_stored_transaction(two: ServiceHarness) -> None:
    two.stored("a", 30, destination="branch")
    two.node.losses += [("eth_sendRawTransaction", False)]
    two.made("/v1/orders/a/capture")
    with two.database.reading() as tx:
        (intent,) = tx.execute(select(TransactionRecord.id)).scalars()
    two.chain.mine(60)
    wrong = two.backend.destinations.default.sender
    assert wrong.account.address == SHOP.address
    # It may send the stored bytes, which wait for longer than a sender tolerates.
    wrong.deliver(intent)
    with pytest.raises(WrongAccount):
        wrong.replace(intent)
    assert signer_of(two, "a") == "branch"
