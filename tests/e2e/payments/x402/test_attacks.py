"""Attacks on a seller and a facilitator: each attempt fails, and no party loses money."""

import asyncio
import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import orjson
import pytest
from x402 import x402Client
from x402.http.utils import encode_payment_signature_header
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSignerWithRPC
from x402.schemas import PaymentPayload, PaymentRequired, SettleResponse

from foreseal.payments.chain import ChainReceipt, Incomplete, RpcNode
from foreseal.payments.ledger import Finality, GrantState
from foreseal.payments.typed_data import Cancellation
from foreseal.payments.x402.facilitator.app import facilitator_app
from foreseal.payments.x402.payment_key import granted, settled
from payments.x402.paying import demand, manual_payment, over_permit2, pay
from payments.x402.selling import ORIGIN, Selling, settlement
from payments.x402.third_parties import submit_authorization
from payments.x402.world import (
    BLACKLISTER,
    BUYERS,
    DOMAIN,
    FACILITATOR,
    NETWORK,
    NEWCOMER,
    PAUSER,
    SHOP,
    STRANGER,
    World,
)

BUYER = BUYERS[16]


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


@contextmanager
def nothing_moves(world: World) -> Iterator[None]:
    """Assert that neither money nor a transaction of the facilitator moves."""

    def now() -> tuple[int, int, int]:
        return world.balance(BUYER.address), world.balance(SHOP.address), world.sent_by(FACILITATOR.address)

    before = now()
    yield
    assert now() == before


@contextmanager
def one_payment(world: World, amount: int = 1000) -> Iterator[None]:
    """Assert that there is one transfer, and no reverted transaction of the facilitator."""
    before, start = world.balance(SHOP.address), world.pending
    yield
    assert world.balance(SHOP.address) == before + amount
    assert all(receipt["status"] == "0x1" for receipt in world.receipts_of(FACILITATOR.address, start))


def cancel(world: World, payment: PaymentPayload) -> None:
    """Cancel a payment on the chain as the payer."""
    nonce = payment.payload["authorization"]["nonce"]
    signature = Cancellation(BUYER.address, nonce).sign(DOMAIN, bytes(BUYER.key))
    given = (BUYER.address, bytes.fromhex(nonce[2:]), signature)
    world.act(BUYER, "cancelAuthorization(address,bytes32,bytes)", *given)


def test_replay_of_a_settled_payment_is_not_charged(world: World, selling: Selling) -> None:
    with one_payment(world):
        payment = selling.bought(BUYER, "/report")
        first = selling.get("/report", payment)
        assert first.status_code == 200
        for _ in range(3):
            assert selling.get("/report", payment).content == first.content
        assert selling.get("/other", payment).status_code == 402
    assert selling.runs == {"/report": 1}


def test_payment_of_another_gets_no_stored_response(world: World, selling: Selling) -> None:
    """Payer and nonce of a payment are in the token's logs; the signature that was checked is not."""
    payment = selling.bought(BUYER, "/report")
    assert selling.get("/report", payment).status_code == 200
    other = selling.bought(BUYER, "/report").payload["signature"]
    terms = payment.payload["authorization"]
    for changes in ({"signature": other}, {"authorization": terms | {"validBefore": "99999999999"}}):
        changed = payment.model_copy(update={"payload": payment.payload | changes})
        response = selling.get("/report", changed)
        assert (response.status_code, "payment_differs" in str(requirement_error(response))) == (402, True)
    assert selling.get("/report", payment).status_code == 200
    assert selling.runs == {"/report": 1}


def requirement_error(response: httpx.Response) -> str:
    """Return the error of a demand."""
    demanded = orjson.loads(base64.b64decode(response.headers["payment-required"]))
    return str(demanded["error"])


def test_replay_after_a_restart_is_not_charged(world: World, url: str) -> None:
    with one_payment(world):
        payment = Selling(world, url).bought(BUYER, "/report")
        first = Selling(world, url).get("/report", payment)
        restarted = Selling(world, url)
        assert restarted.get("/report", payment).content == first.content
        assert not restarted.runs


@pytest.mark.parametrize("terms_of", [demand, over_permit2], ids=["eip3009", "permit2"])
def test_replay_after_a_lost_shop_database_is_not_charged(
    world: World, sqlite: Callable[[], str], terms_of: Callable[..., Any]
) -> None:
    path = "/report" if terms_of is demand else "/permit2"
    with one_payment(world):
        first = Selling(world, sqlite())
        payment = first.bought(BUYER, path)
        assert first.get(path, payment).status_code == 200
        forgetful = Selling(world, sqlite())
        assert forgetful.get(path, payment).status_code == 402
        assert not forgetful.runs


@pytest.mark.parametrize(
    "terms",
    [
        {"valid_before": -10},
        {"valid_before": 2},
        {"valid_after": 3600, "valid_before": 7200},
        {"payee": STRANGER.address},
        {"value": 999},
        {"payer": BUYERS[17].address},
    ],
    ids=["expired", "about to expire", "early", "wrong payee", "too little", "somebody else's money"],
)
def test_payment_with_other_terms_is_rejected(world: World, selling: Selling, terms: dict[str, Any]) -> None:
    """The times are seconds from now."""
    now = int(time.time())
    terms = terms | {name: now + terms[name] for name in ("valid_after", "valid_before") if name in terms}
    with nothing_moves(world):
        payment = manual_payment(BUYER, selling.demand("/report"), **terms)
        assert selling.get("/report", payment).status_code == 402
    assert not selling.runs


def test_validity_beyond_any_clock_is_rejected(world: World, selling: Selling) -> None:
    with one_payment(world):
        payment = manual_payment(BUYER, selling.demand("/report"), valid_before=2**256 - 1)
        assert selling.get("/report", payment).status_code == 200
        assert selling.get("/report", payment).json()["run"] == 1


@pytest.mark.parametrize("id", ["%00", "nonsense", "a" * 300, "84532-0x-0x-0x", "%ED%A0%80"])
def test_status_of_an_unknown_payment_is_404(selling: Selling, id: str) -> None:
    assert selling.get(f"/x402/payments/{id}").status_code == 404


def test_payment_for_changed_requirements_is_rejected(world: World, selling: Selling) -> None:
    with nothing_moves(world):
        asked = selling.demand("/report")
        cheap = pay(BUYER, asked.model_copy(update={"amount": "1"}))
        assert selling.get("/report", cheap).json()["error"] == "payment_does_not_match"
        to_self = pay(BUYER, asked.model_copy(update={"pay_to": BUYER.address}))
        assert selling.get("/report", to_self).json()["error"] == "payment_does_not_match"
    assert not selling.runs


def test_canceled_authorization_is_rejected(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYER, "/report")
    with nothing_moves(world):
        cancel(world, payment)
        assert selling.get("/report", payment).status_code == 402
    assert not selling.runs


def test_authorization_canceled_during_the_handler_is_not_settled(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYER, "/report")
    selling.during = lambda: cancel(world, payment)
    with nothing_moves(world):
        response = selling.get("/report", payment)
        assert (response.status_code, settlement(response).success) == (402, False)
        assert "run" not in response.json()
        with world.rollback():
            world.finalize()
            id = settled(payment, payment.accepted).key.name
            status = selling.get(f"/x402/payments/{id}").json()
            assert (status["status"], status["neverSettled"]) == ("canceled", True)


def test_payer_blacklisted_before_settlement_is_not_charged(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYER, "/report")
    selling.during = lambda: world.act(BLACKLISTER, "blacklist(address)", BUYER.address)
    try:
        with nothing_moves(world):
            response = selling.get("/report", payment)
            assert (response.status_code, settlement(response).success) == (402, False)
            assert selling.get("/report", payment).status_code == 402
    finally:
        world.act(BLACKLISTER, "unBlacklist(address)", BUYER.address)
    with one_payment(world):
        assert selling.get("/report", payment).json()["run"] == 1
    assert selling.runs == {"/report": 1}


def test_payment_in_a_paused_token_is_rejected(world: World, selling: Selling) -> None:
    payment = selling.bought(BUYER, "/report")
    permit2 = selling.bought(BUYER, "/permit2")
    world.act(PAUSER, "pause()")
    try:
        with nothing_moves(world):
            assert selling.get("/report", payment).status_code == 402
            assert selling.get("/permit2", permit2).status_code == 402
            assert not selling.runs
    finally:
        world.act(PAUSER, "unpause()")
    with one_payment(world):
        assert selling.get("/report", payment).status_code == 200


class WithoutReceipt(RpcNode):
    """A node that does not return one receipt, as that of a transaction with very many logs."""

    unreadable = ""
    asked = 0

    def receipt(self, hash: str) -> ChainReceipt | None:
        if hash == self.unreadable:
            self.asked += 1
            raise Incomplete("eth_getTransactionReceipt: the response is too large")
        return super().receipt(hash)


def test_an_authorization_that_a_third_party_submits_first(world: World, selling: Selling) -> None:
    """The money arrives as signed, and the payer gets the paid response, without a read of the stranger's receipt."""
    payment = selling.bought(BUYER, "/report")
    node = WithoutReceipt(world.client)
    selling.seller.node = node

    def submit() -> None:
        node.unreadable = submit_authorization(world, STRANGER, payment)

    selling.during = submit
    sent = world.sent_by(FACILITATOR.address)
    with one_payment(world):
        response = selling.get("/report", payment)
        assert settlement(response).transaction == node.unreadable
    assert world.sent_by(FACILITATOR.address) == sent
    for _ in range(2):
        asyncio.run(selling.seller.follow())
    world.finalize()
    asyncio.run(selling.seller.follow())
    row = selling.seller.grants.find(granted(payment).key.name)
    assert row is not None
    assert (row.state, row.step) == (GrantState.SETTLED, Finality.FINAL)
    assert node.asked == 1


def test_a_permit_that_a_third_party_submits_first(world: World, sqlite: Callable[[], str]) -> None:
    selling = Selling(world, sqlite())
    required = selling.get("/permit2")

    async def signing() -> PaymentPayload:
        signer = EthAccountSignerWithRPC(NEWCOMER, world.url)
        stock = x402Client().register("eip155:84532", ExactEvmScheme(signer))
        payload = await stock.create_payment_payload(PaymentRequired.model_validate_json(required.content))
        assert isinstance(payload, PaymentPayload)
        return payload

    payment = asyncio.run(signing())
    assert payment.extensions is not None
    permit = payment.extensions["eip2612GasSponsoring"]["info"]
    signature = bytes.fromhex(permit["signature"].removeprefix("0x"))
    given = (permit["from"], permit["spender"], int(permit["amount"]), int(permit["deadline"]), signature)
    world.act(STRANGER, "permit(address,address,uint256,uint256,bytes)", *given)
    with one_payment(world):
        assert selling.get("/permit2", payment).json()["run"] == 1


@pytest.mark.parametrize(
    "header",
    [
        "this is no base64!",
        "",
        base64.b64encode(b"no json").decode(),
        base64.b64encode(b"[1,2,3]").decode(),
        base64.b64encode(b"\xff\xfe{}").decode(),
        base64.b64encode(orjson.dumps({"x402Version": 2, "payload": {}, "accepted": None})).decode(),
        base64.b64encode(orjson.dumps({"x402Version": 2, "payload": None, "accepted": {}})).decode(),
        base64.b64encode(orjson.dumps({"x402Version": 1, "payload": {}})).decode(),
        base64.b64encode(b"[" * 5000).decode(),
    ],
)
def test_malformed_payment_headers_are_rejected(selling: Selling, header: str) -> None:
    response = selling.get("/report", headers={"payment-signature": header})
    assert response.status_code == 400, response.text
    assert response.json()["error"]
    assert not selling.runs


def test_duplicate_payment_header_is_rejected(world: World, selling: Selling) -> None:
    payments = [encode_payment_signature_header(selling.bought(BUYER, "/report")) for _ in range(2)]
    with nothing_moves(world):
        headers = [("payment-signature", payments[0]), ("payment-signature", payments[1])]
        response = selling.get("/report", headers=headers)
        assert (response.status_code, response.json()["error"]) == (400, "PAYMENT-SIGNATURE: occurs 2 times")


def changed(payment: PaymentPayload, path: str, value: Any) -> Any:
    """Return a payment in JSON with one field changed."""
    fields = orjson.loads(payment.model_dump_json(by_alias=True))
    inner = fields
    *names, last = path.split(".")
    for name in names:
        inner = inner[name]
    inner[last] = value
    return fields


BROKEN = [
    ("accepted", None),
    ("accepted.amount", 1000),
    ("accepted.amount", "-5"),
    ("accepted.amount", str(2**256)),
    ("accepted.asset", "0x12"),
    ("accepted.network", "solana:mainnet"),
    ("accepted.network", "eip155:x"),
    ("accepted.payTo", ["0x"]),
    ("accepted.scheme", "free"),
    ("payload", []),
    ("payload.authorization", None),
    ("payload.authorization.nonce", "0x12"),
    ("payload.authorization.value", 1.5),
    ("payload.authorization.value", "1e3"),
    ("payload.authorization.from", {}),
    ("payload.authorization.validBefore", "\uff19"),
    ("payload.signature", "0xzz"),
    ("payload.signature", "0x" + "11" * 9000),
    ("x402Version", "2"),
]


@pytest.mark.parametrize(("path", "value"), BROKEN, ids=[f"{path}={str(value)[:20]}" for path, value in BROKEN])
def test_fields_of_another_type_are_rejected(world: World, sqlite: Callable[[], str], path: str, value: Any) -> None:
    facilitator = world.facilitator(url := sqlite())
    shop = Selling(world, url)
    asked = demand(1000)
    broken = changed(pay(BUYER, asked), path, value)
    header = base64.b64encode(orjson.dumps(broken)).decode()
    body = {"x402Version": 2, "paymentPayload": broken, "paymentRequirements": asked.model_dump(by_alias=True)}

    async def both() -> list[httpx.Response]:
        transport = httpx.ASGITransport(facilitator_app(facilitator))
        async with httpx.AsyncClient(transport=transport, base_url="http://facilitator.test") as client:
            return [await client.post(f"/{each}", json=body) for each in ("verify", "settle")]

    answers = [*asyncio.run(both()), shop.get("/report", headers={"payment-signature": header})]
    assert [answer.status_code for answer in answers] == [400, 400, 400], [answer.text for answer in answers]
    named = path.split(".")[-1].removesuffix("By")
    assert all(named in answer.json()["error"] for answer in answers), answers[0].text


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"{}", b'{"paymentPayload":{}}', b"\xff", b"x" * 600_000])
def test_invalid_facilitator_calls_are_rejected(world: World, sqlite: Callable[[], str], body: bytes) -> None:
    app = facilitator_app(world.facilitator(sqlite()))

    async def posting() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://facilitator.test") as client:
            responses = [await client.post(f"/{each}", content=body) for each in ("verify", "settle")]
            return [*responses, await client.get("/status/nonsense"), await client.get("/verify")]

    assert [answer.status_code for answer in asyncio.run(posting())] == [400, 400, 400, 405]


@pytest.mark.parametrize("remembers", [True, False])
def test_facilitator_timeout_after_sending_settles_once(world: World, url: str, remembers: bool) -> None:
    class Silent:
        """A facilitator that settles but loses the response; a retry succeeds, or reports that the nonce is used."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.verify, self.get_supported = inner.verify, inner.get_supported
            self.lost = 1

        async def settle(self, *given: Any) -> Any:
            if not self.lost and not remembers:
                return SettleResponse(success=False, error_reason="nonce_used", transaction="", network=NETWORK)
            answer = await self.inner.settle(*given)
            if self.lost:
                self.lost -= 1
                raise httpx.ReadTimeout("no answer")
            return answer

    selling = Selling(world, url)
    selling.facilitator = Silent(selling.facilitator)
    shop = Selling(world, url, selling.facilitator)
    with one_payment(world):
        payment = shop.bought(BUYER, "/report")
        first = shop.get("/report", payment)
        assert first.status_code == 409
        assert shop.get(first.json()["status"]).json()["status"] == "settled"
        again = shop.get("/report", payment)
        assert again.json() == {"path": "/report", "run": 1}
        assert settlement(again).success
    assert shop.runs == {"/report": 1}


@pytest.mark.parametrize("named", ["another transaction", "0x" + "12" * 32, "no transaction " * 5, ""])
def test_a_lying_facilitator_is_detected(world: World, url: str, named: str) -> None:
    if named == "another transaction":
        named = world.act(STRANGER, "approve(address,uint256)", SHOP.address, 1000)["transactionHash"]

    class Lying:
        """A facilitator that falsely reports a settlement."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.verify, self.get_supported = inner.verify, inner.get_supported
            self.lies = 1

        async def settle(self, *given: Any) -> Any:
            if self.lies:
                self.lies -= 1
                verification = await self.inner.verify(*given)
                assert verification.is_valid
                return SettleResponse(success=True, transaction=named, network=NETWORK, payer=BUYER.address)
            return await self.inner.settle(*given)

    shop = Selling(world, url, Lying(Selling(world, url).facilitator))
    with one_payment(world):
        payment = shop.bought(BUYER, "/report")
        # A value that is not a hash is ignored.
        assert shop.get("/report", payment).status_code == (200 if named.startswith("0x") else 409)
        for _ in range(2):
            asyncio.run(shop.seller.follow())
        assert shop.get("/report", payment).status_code == 200
    assert shop.runs == {"/report": 1}


def test_shop_ignores_the_origin_of_the_request(selling: Selling) -> None:
    response = selling.get("/report", headers={"host": "evil.test"})
    assert response.json()["resource"]["url"].startswith(ORIGIN)
