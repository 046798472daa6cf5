"""A buyer and its caps, against a seller with scripted responses, on both databases."""

import base64
from collections.abc import Callable

import httpx
import pytest

from foreseal.payments.ledger import Finality, PurchaseState, Trigger, TxStatus
from foreseal.payments.x402.buyer import (
    PURCHASE,
    Asset,
    Caps,
    OutcomeUnknown,
    PaidRequest,
    PayingTransport,
    PurchaseRejected,
    ReportSource,
    Rule,
    SpendingPolicy,
    Unreadable,
)
from foreseal.payments.x402.buyer.reconciliation import Reconciliation
from payments.shop import BUYERS
from payments.x402.buyers import NOON, Buyers, policy
from payments.x402.seller_double import HASH, NETWORK, PAYEE, Seller, paid, refused, required, settled, terms

_, PRESENTED, SPENT, RETURNED = PurchaseState
WANTED = PaidRequest("GET", "http://seller/a")


def lost(_: object) -> httpx.Response:
    raise httpx.ReadError("the connection broke")


def test_paid_request_gets_its_response_and_counts(buyers: Buyers) -> None:
    seller = Seller()
    answer = buyers.client(seller).post("/a", content=b"body")
    assert (answer.status_code, answer.text) == (200, "the answer")
    assert [request.content for request in seller.requests] == [b"body", b"body"]
    [payment] = seller.payments
    assert payment.payload["authorization"]["from"] == BUYERS[0].address
    assert payment.payload["authorization"]["to"] == PAYEE
    [row] = buyers.rows()
    assert (row.state, row.step, row.amount, row.settled) == (SPENT, Finality.PROVISIONAL, 1000, 1000)
    assert (row.transaction_hash, row.id) == (HASH, answer.extensions[PURCHASE])
    assert "0x" + row.nonce.hex() == payment.payload["authorization"]["nonce"]
    assert str(row.valid_before) == payment.payload["authorization"]["validBefore"]
    assert buyers.committed() == {"session a": 1000, "day 2023-11-14": 1000}


def test_response_without_a_supported_offer_is_not_paid(buyers: Buyers) -> None:
    seller = Seller(free=("/free",))
    assert buyers.client(seller).get("/free").text == "free"
    assert len(seller.requests) == 1
    old = httpx.MockTransport(lambda _: httpx.Response(402, json={"x402Version": 1, "accepts": []}))
    answer = httpx.Client(transport=PayingTransport(buyers.buyer(), old)).get("http://seller/")
    assert answer.json()["x402Version"] == 1
    assert buyers.rows() == []


@pytest.mark.parametrize(
    ("rules", "rule", "figures"),
    [
        (policy(per_request=999), Rule.PER_REQUEST, (1000, None, 999)),
        (policy(per_session=999), Rule.PER_SESSION, (1000, 0, 999)),
        (policy(per_day=999), Rule.PER_DAY, (1000, 0, 999)),
    ],
)
def test_exceeded_cap_is_reported_with_its_amounts(
    buyers: Buyers, rules: SpendingPolicy, rule: Rule, figures: tuple[int | None, ...]
) -> None:
    seller = Seller()
    with pytest.raises(PurchaseRejected, match=rf"{rule}: 1000 units .* 999") as caught:
        buyers.client(seller, rules).get("/a")
    [refusal] = caught.value.refusals
    assert (refusal.rule, (refusal.requested, refusal.committed, refusal.cap)) == (rule, figures)
    assert seller.payments == []
    assert buyers.rows() == []
    assert buyers.day() == 0


def test_caps_hold_across_sessions_and_a_restart(buyers: Buyers) -> None:
    seller = Seller()
    for number in range(5):
        buyers.client(seller).get(f"/{number}")
    buyers.restart()
    with pytest.raises(PurchaseRejected, match=r"per session: 1000 units .* 5000 of 5000 .* in session a"):
        buyers.client(seller).get("/a")
    for number in range(3):
        buyers.client(seller, session="b").get(f"/{number}")
    buyers.restart()
    with pytest.raises(PurchaseRejected, match=r"per day: 1000 units .* 8000 of 8000 .* in day 2023-11-14"):
        buyers.client(seller, session="c").get("/a")
    buyers.client(seller, key=BUYERS[1]).get("/a")  # another account has its own budgets
    buyers.now = NOON + 43_199
    with pytest.raises(PurchaseRejected, match="per day"):
        buyers.client(seller, session="c").get("/a")
    buyers.now = NOON + 43_200  # midnight
    buyers.client(seller, session="c").get("/a")
    with pytest.raises(PurchaseRejected, match="per session"):
        buyers.client(seller, session="a").get("/a")
    assert len(seller.payments) == 10


def test_payment_rejected_before_settlement_is_released(buyers: Buyers) -> None:
    seller = Seller(refused)
    client = buyers.client(seller, policy(per_session=1000))
    for _ in range(3):
        assert client.get("/a").status_code == 402
    assert buyers.states() == [RETURNED] * 3
    assert buyers.day() == 0
    seller.answer = paid
    assert client.get("/a").status_code == 200
    assert buyers.day() == 1000


@pytest.mark.parametrize(
    "answer",
    [
        lost,
        lambda _: httpx.Response(500),
        lambda _: httpx.Response(200, text="without a receipt"),
        lambda _: httpx.Response(402, headers=settled(False, "", error_reason="unexpected_settle_error")),
        lambda _: httpx.Response(402, headers={"PAYMENT-REQUIRED": required(), **settled(False)}),
        lambda _: httpx.Response(402),
        lambda _: httpx.Response(200, headers={"PAYMENT-RESPONSE": "%%%"}),
        lambda _: httpx.Response(200, headers={"PAYMENT-RESPONSE": "e30="}),
        lambda _: httpx.Response(200, headers=2 * list(settled().items())),
        lambda _: httpx.Response(409, json={"error": "settling"}),
    ],
)
def test_unknown_outcome_counts_and_blocks_another_signature(
    buyers: Buyers, answer: Callable[[object], httpx.Response]
) -> None:
    seller = Seller(answer)
    client = buyers.client(seller)
    try:
        client.get("/a?x=1")
    except httpx.ReadError:
        assert answer is lost
    assert buyers.states() == [PRESENTED]
    seller.answer = paid
    buyers.restart()
    client = buyers.client(seller)
    with pytest.raises(OutcomeUnknown, match="GET http://seller/a was presented") as caught:
        client.get("/a?x=1")
    assert caught.value.purchase == buyers.rows()[0].id
    assert len(seller.payments) == 1
    assert buyers.day() == 1000
    client.get("/a?x=2")
    client.post("/a?x=1")
    client.get("/a?x=1", headers={"Idempotency-Key": "two"})
    buyers.client(seller, session="b").get("/a?x=1")
    assert len(seller.payments) == 5


def test_untrusted_seller_report_lowers_no_amount(buyers: Buyers) -> None:
    rules = policy(report_source=ReportSource.CHAIN)
    buyers.client(Seller(refused), rules).get("/a")
    upto = terms(scheme="upto", extra={"facilitatorAddress": PAYEE, "assetTransferMethod": "permit2"})
    cheap = Seller(lambda _: httpx.Response(200, headers=settled(amount="1")), (upto,))
    buyers.client(cheap, rules).get("/b")
    assert sorted((row.state, row.settled) for row in buyers.rows()) == [
        (PRESENTED, None),
        (SPENT, 1000),
    ]
    assert buyers.day() == 2000


@pytest.mark.parametrize(
    ("told", "counts"),
    [("400", 400), ("0", 0), ("1000", 1000), ("2000", 1000), ("-1", 1000), ("x", 1000), (None, 1000)],
)
def test_upto_counts_the_maximum_until_the_amount_is_settled(buyers: Buyers, told: str | None, counts: int) -> None:
    seen: list[int] = []

    def answer(_: object) -> httpx.Response:
        seen.append(buyers.day())
        return httpx.Response(200, headers=settled(amount=told))

    upto = terms(scheme="upto", extra={"facilitatorAddress": PAYEE, "assetTransferMethod": "permit2"})
    seller = Seller(answer, (upto,))
    buyers.client(seller).get("/a")
    assert (seen, buyers.day()) == ([1000], counts)
    assert (
        int(seller.payments[0].payload["permit2Authorization"]["nonce"]).to_bytes(32, "big") == buyers.rows()[0].nonce
    )


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout])
def test_payment_that_was_not_sent_is_released(buyers: Buyers, error: type[httpx.TransportError]) -> None:
    def unreachable(_: object) -> httpx.Response:
        raise error("no connection")

    seller = Seller(unreachable)
    with pytest.raises(error):
        buyers.client(seller).get("/a")
    [row] = buyers.rows()
    assert (row.state, row.step, buyers.day()) == (RETURNED, Finality.FINAL, 0)
    assert buyers.triggers(row.id)[-1] == Trigger.UNSENT


def test_first_acceptable_offer_is_paid(buyers: Buyers) -> None:
    seller = Seller(
        accepts=(terms(scheme="escrow"), terms(network="eip155:1"), terms(5000), terms(900), terms(800)),
    )
    buyers.client(seller).get("/a")
    assert seller.payments[0].accepted.amount == "900"
    with pytest.raises(PurchaseRejected) as caught:
        buyers.client(seller, policy(per_request=700)).get("/b")
    rules = [refusal.rule for refusal in caught.value.refusals]
    assert rules == [Rule.SCHEME, Rule.NETWORK, Rule.PER_REQUEST, Rule.PER_REQUEST, Rule.PER_REQUEST]
    with pytest.raises(PurchaseRejected, match="the seller accepts no payment method"):
        buyers.buyer().pay(WANTED, base64.b64encode(b'{"x402Version":2,"accepts":[]}').decode())


@pytest.mark.parametrize(
    "header", ["%%%", "e30=", "W10=", "bnVsbA==", "W1tbW1s=", "A" * 200_000, f"{required()}, {required()}"]
)
def test_unreadable_offer_is_not_paid(buyers: Buyers, header: str) -> None:
    with pytest.raises(Unreadable, match="PAYMENT-REQUIRED"):
        buyers.buyer().pay(WANTED, header)
    assert buyers.rows() == []


def test_unsignable_terms_reserve_nothing(buyers: Buyers) -> None:
    odd = terms(asset="0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", extra={})
    rules = SpendingPolicy({Asset(NETWORK, PAYEE): Caps(1000, 5000, 8000)})
    with pytest.raises(Unreadable, match="exact on eip155:84532: EIP-712 domain parameters"):
        buyers.client(Seller(accepts=(odd,)), rules).get("/a")
    assert (buyers.states(), buyers.day()) == ([RETURNED], 0)


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("http://seller/payments/1", "http://seller/payments/1"),
        ("/payments/1", "http://seller/payments/1"),
        ("http://other/payments/1", None),
        ("https://seller/payments/1", None),
        ("http://seller:81/payments/1", None),
        ("http://[", None),
        ("/" + 2000 * "a", None),
    ],
)
def test_a_seller_advertises_its_payment_status_endpoint(buyers: Buyers, place: str, kept: str | None) -> None:
    buyers.client(Seller(lambda _: httpx.Response(409, headers={"Location": place}))).get("/a")
    assert [(row.state, row.status_url) for row in buyers.rows()] == [(PRESENTED, kept)]


STATUS = {"status": "open", "final": False, "neverSettled": False, "transaction": None, "amount": None}


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (STATUS, (PRESENTED, TxStatus.IDLE, None)),
        (STATUS | {"status": "unsettled", "neverSettled": True}, (RETURNED, Finality.PROVISIONAL, None)),
        (
            STATUS | {"status": "settled", "amount": "700", "transaction": HASH},
            (SPENT, Finality.PROVISIONAL, 700),
        ),
        (STATUS | {"status": "settled", "amount": "7000"}, (SPENT, Finality.PROVISIONAL, 1000)),
        (STATUS | {"status": "settled", "amount": 1}, (SPENT, Finality.PROVISIONAL, 1)),
        (STATUS | {"status": "settled", "transaction": 1}, (SPENT, Finality.PROVISIONAL, 1000)),
        (STATUS | {"neverSettled": "true"}, (PRESENTED, TxStatus.IDLE, None)),
        (["settled"], (PRESENTED, TxStatus.IDLE, None)),
        (STATUS | {"status": "settled", "more": 70_000 * "a"}, (PRESENTED, TxStatus.IDLE, None)),
    ],
)
def test_status_query_concludes_an_unknown_purchase(buyers: Buyers, told: object, outcome: tuple[object, ...]) -> None:
    buyer = buyers.buyer()
    buyers.client(Seller(lambda _: httpx.Response(409, headers={"Location": "/status"}))).get("/a")
    asked: list[str] = []

    def status(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json=told)

    with httpx.Client(transport=httpx.MockTransport(status)) as sellers:
        Reconciliation(buyers.purchases, {}, sellers).run(buyer.payer)
    [row] = buyers.rows()
    assert (row.state, row.step, row.settled) == outcome
    assert asked == ["http://seller/status"]
    buyers.committed()


def test_untrusted_status_lowers_no_amount_by_reports(buyers: Buyers) -> None:
    rules = policy(per_day=3000, report_source=ReportSource.CHAIN)
    buyer = buyers.buyer()
    upto = terms(scheme="upto", extra={"facilitatorAddress": PAYEE, "assetTransferMethod": "permit2"})
    told = iter([STATUS | {"neverSettled": True}, STATUS | {"status": "settled", "amount": "1"}] * 9)

    def status(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=next(told))

    with httpx.Client(transport=httpx.MockTransport(status)) as sellers:
        for number in range(6):
            silent = Seller(lambda _: httpx.Response(409, headers={"Location": "/status"}), (upto,))
            if number < 3:
                buyers.client(silent, rules).get(f"/{number}")
            else:
                with pytest.raises(PurchaseRejected, match="3000 of 3000"):
                    buyers.client(silent, rules).get(f"/{number}")
            Reconciliation(buyers.purchases, {}, sellers).run(buyer.payer)
    assert buyers.day() == 3000
    assert [row.report_source for row in buyers.rows()] == [ReportSource.CHAIN] * 3
    buyers.committed()


@pytest.mark.parametrize(
    "answer", [httpx.Response(404), httpx.Response(200, text="not JSON"), httpx.ConnectError("no")]
)
def test_an_empty_status_changes_nothing(buyers: Buyers, answer: httpx.Response | Exception) -> None:
    buyer = buyers.buyer()
    buyers.client(Seller(lambda _: httpx.Response(409, headers={"Location": "/status"}))).get("/a")

    def status(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with httpx.Client(transport=httpx.MockTransport(status)) as sellers:
        outcome = Reconciliation(buyers.purchases, {}, sellers).run(buyer.payer)
    assert (outcome.concluded, outcome.open) == (0, 1)
    assert list(outcome.errors.values()) == (["no"] if isinstance(answer, Exception) else [])
    assert buyers.states() == [PRESENTED]
