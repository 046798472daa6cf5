"""Bounds of a facilitator: every member that acts on the chain is compared, and a stranger's channels cost no gas."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse

from foreseal.payments.x402.facilitator.bounds import FacilitatorBounds
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.payloads import Malformed
from payments.x402.channel_buying import buying, manager
from payments.x402.paying import demand
from payments.x402.selling import Selling
from payments.x402.world import AUTHORIZER, BUYERS, FACILITATOR, SHOP, STRANGER, TOKEN, World

BOUNDS = FacilitatorBounds(frozenset({TOKEN}), frozenset({SHOP.address}))
PAYER, OTHER = BUYERS[2].address, STRANGER.address
BYTES32, SIGNATURE = "0x" + "ab" * 32, "0x" + "01" * 65
CHANNEL = {
    "payer": PAYER,
    "payerAuthorizer": PAYER,
    "receiver": SHOP.address,
    "receiverAuthorizer": AUTHORIZER.address,
    "token": TOKEN,
    "withdrawDelay": 900,
    "salt": BYTES32,
}
VOUCHER = {"channelId": BYTES32, "maxClaimableAmount": "5", "signature": SIGNATURE}
CLAIM = {"voucher": {"channel": CHANNEL, "maxClaimableAmount": "5"}, "signature": SIGNATURE, "totalClaimed": "5"}
PERMIT = {
    "from": PAYER,
    "permitted": {"token": TOKEN, "amount": "5"},
    "spender": OTHER,
    "nonce": "7",
    "deadline": "9999999999",
    "witness": {"to": SHOP.address, "validAfter": "0"},
}
TRANSFER = {"from": PAYER, "to": SHOP.address, "value": "5", "validAfter": "0", "validBefore": "9", "nonce": BYTES32}
RECEIVE = {"validAfter": "0", "validBefore": "9999999999", "salt": BYTES32, "signature": SIGNATURE}
UPTO_PERMIT = PERMIT | {"witness": {"to": SHOP.address, "validAfter": "0", "facilitator": FACILITATOR.address}}
DEPOSIT_PERMIT = PERMIT | {"witness": {"channelId": BYTES32}, "signature": SIGNATURE}


def deposit(**authorization: Any) -> dict[str, Any]:
    terms = {"amount": "5", "authorization": authorization}
    return {"type": "deposit", "channelConfig": CHANNEL, "voucher": VOUCHER, "deposit": terms}


PAYLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact, EIP-3009": ("exact", {"authorization": TRANSFER, "signature": SIGNATURE}),
    "exact, Permit2": ("exact", {"permit2Authorization": PERMIT, "signature": SIGNATURE}),
    "upto": ("upto", {"permit2Authorization": UPTO_PERMIT, "signature": SIGNATURE}),
    "deposit, EIP-3009": ("batch-settlement", deposit(erc3009Authorization=RECEIVE)),
    "deposit, Permit2": ("batch-settlement", deposit(permit2Authorization=DEPOSIT_PERMIT)),
    "voucher": ("batch-settlement", {"type": "voucher", "channelConfig": CHANNEL, "voucher": VOUCHER}),
    "refund request": ("batch-settlement", {"type": "refund", "channelConfig": CHANNEL, "voucher": VOUCHER}),
    "refund": (
        "batch-settlement",
        {
            "type": "refund",
            "channelConfig": CHANNEL,
            "voucher": VOUCHER,
            "amount": "5",
            "refundNonce": "0",
            "claims": [CLAIM, CLAIM],
            "refundAuthorizerSignature": SIGNATURE,
            "claimAuthorizerSignature": SIGNATURE,
        },
    ),
    "claim": ("batch-settlement", {"type": "claim", "claims": [CLAIM, CLAIM], "claimAuthorizerSignature": SIGNATURE}),
    "sweep": ("batch-settlement", {"type": "settle", "receiver": SHOP.address, "token": TOKEN}),
}
PAID = {name for name in PAYLOADS if name not in ("claim", "sweep")}
"""Payloads that a facilitator also verifies; a claim and a sweep are no payments."""
SENT = set(PAYLOADS) - {"voucher", "refund request"}
"""Payloads that a facilitator also settles; the seller alone charges a voucher, and requests a refund."""

ASSET, PAYEE = "asset_not_allowed", "payee_not_allowed"


@dataclass(frozen=True)
class Member:
    """A member of a payload with an account: who chooses it, who uses it, and the bound that it is compared with."""

    path: str
    chosen_by: str
    used_by: str
    reason: str | None
    """Reason of the rejection by `FacilitatorBounds`; None for an account that the bounds do not concern."""


_CHANNEL = [
    Member("channelConfig.token", "payer", "channel contract: deposits, claims and refunds", ASSET),
    Member("channelConfig.receiver", "payer", "channel contract: claims", PAYEE),
    Member("channelConfig.payer", "payer", "channel contract: deposits and refunds", None),
    Member("channelConfig.payerAuthorizer", "payer", "channel contract: signatures of vouchers", None),
    Member("channelConfig.receiverAuthorizer", "payer", "channel contract: signatures of claims and refunds", None),
]
_CLAIMS = [
    Member(f"claims.{number}.voucher.channel.{name}", "seller", f"channel contract: {use}", reason)
    for number in (0, 1)
    for name, use, reason in (
        ("token", "claims", ASSET),
        ("receiver", "claims", PAYEE),
        ("payer", "id of the channel", None),
        ("payerAuthorizer", "signatures of vouchers", None),
        ("receiverAuthorizer", "signatures of claims", None),
    )
]


def permit2(path: str, spender: str) -> list[Member]:
    return [
        Member(f"{path}.permitted.token", "payer", "Permit2: transfer", ASSET),
        Member(f"{path}.from", "payer", "Permit2: transfer", None),
        Member(f"{path}.spender", "payer", f"Permit2: must be the {spender}, compared by the scheme", None),
    ]


MEMBERS: dict[str, list[Member]] = {
    "exact, EIP-3009": [
        Member("authorization.to", "payer", "token: transfer", PAYEE),
        Member("authorization.from", "payer", "token: transfer", None),
    ],
    "exact, Permit2": [
        *permit2("permit2Authorization", "exact proxy"),
        Member("permit2Authorization.witness.to", "payer", "exact proxy: transfer", PAYEE),
    ],
    "upto": [
        *permit2("permit2Authorization", "upto proxy"),
        Member("permit2Authorization.witness.to", "payer", "upto proxy: transfer", PAYEE),
        Member("permit2Authorization.witness.facilitator", "payer", "upto proxy: caller, compared by the scheme", None),
    ],
    "deposit, EIP-3009": _CHANNEL,
    "deposit, Permit2": [*_CHANNEL, *permit2("deposit.authorization.permit2Authorization", "deposit collector")],
    "voucher": _CHANNEL,
    "refund request": _CHANNEL,
    "refund": [*_CHANNEL, *_CLAIMS],
    "claim": _CLAIMS,
    "sweep": [
        Member("token", "seller", "channel contract: transfer", ASSET),
        Member("receiver", "seller", "channel contract: transfer", PAYEE),
    ],
}
REQUIREMENTS = [
    Member("asset", "seller", "EIP-3009: the called token; otherwise compared by the scheme", ASSET),
    Member("pay_to", "seller", "compared by the scheme, but not for claims, refunds and sweeps", PAYEE),
]
ROWS = [(name, member) for name, members in MEMBERS.items() for member in members if member.reason is not None]


def accounts(value: Any, path: str = "") -> set[str]:
    """Return the paths of all accounts in a payload."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {account for name, each in items for account in accounts(each, f"{path}.{name}".removeprefix("."))}
    return {path} if isinstance(value, str) and value.startswith("0x") and len(value) == 42 else set()


def with_member(payload: dict[str, Any], path: str, value: str) -> dict[str, Any]:
    """Return a payload with one other member."""
    changed = deepcopy(payload)
    *parents, last = path.split(".")
    place: Any = changed
    for name in parents:
        place = place[int(name) if isinstance(place, list) else name]
    assert place[last] != value
    place[last] = value
    return changed


def payment(name: str, payload: dict[str, Any]) -> tuple[PaymentPayload, PaymentRequirements]:
    requirements = demand(5, PAYLOADS[name][0])
    return PaymentPayload(payload=payload, accepted=requirements), requirements


@pytest.fixture
def bounded(world: World, sqlite: Callable[[], str]) -> Facilitator:
    return Facilitator(world.facilitator(sqlite()).settlements, BOUNDS)


def refused(bounded: Facilitator, name: str, request: tuple[PaymentPayload, PaymentRequirements], reason: str) -> None:
    """Assert that the facilitator neither verifies nor settles a request."""
    if name in PAID:
        assert bounded.verify(*request).invalid_reason == reason
    else:
        with pytest.raises(Malformed):
            bounded.verify(*request)
    if name in SENT:
        settlement = bounded.settle(*request)
        assert (settlement.success, settlement.error_reason) == (False, reason)
    else:
        with pytest.raises(Malformed):
            bounded.settle(*request)


def test_table_has_every_account_of_every_payload() -> None:
    for name, (_, payload) in PAYLOADS.items():
        assert accounts(payload) == {member.path for member in MEMBERS[name]}, name
        assert BOUNDS.refuses(*payment(name, payload)) is None


@pytest.mark.parametrize(("name", "member"), ROWS, ids=[f"{name}: {member.path}" for name, member in ROWS])
def test_other_member_of_a_payload_is_refused(world: World, bounded: Facilitator, name: str, member: Member) -> None:
    sent = world.sent_by(FACILITATOR.address)
    assert member.reason is not None
    refused(bounded, name, payment(name, with_member(PAYLOADS[name][1], member.path, OTHER)), member.reason)
    assert world.sent_by(FACILITATOR.address) == sent


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("member", REQUIREMENTS, ids=[member.path for member in REQUIREMENTS])
def test_other_member_of_the_requirements_is_refused(bounded: Facilitator, name: str, member: Member) -> None:
    given, requirements = payment(name, PAYLOADS[name][1])
    assert member.reason is not None
    refused(bounded, name, (given, requirements.model_copy(update={member.path: OTHER})), member.reason)


@dataclass
class Recorded:
    """A client of a facilitator that records calls and settles nothing of a channel's claims."""

    inner: Any
    calls: dict[str, tuple[PaymentPayload, PaymentRequirements]] = field(default_factory=dict)

    def get_supported(self) -> Any:
        return self.inner.get_supported()

    async def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        response: VerifyResponse = await self.inner.verify(payload, requirements)
        return response

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        self.calls[payload.payload["type"]] = (payload, requirements)
        response: SettleResponse = await self.inner.settle(payload, requirements)
        return response


def test_claims_and_sweeps_of_a_stranger_cost_no_gas(world: World, url: str) -> None:
    """A stranger names an allowed payee in the requirements of calls for its own channel."""
    selling = Selling(world, url)
    recorded = Recorded(selling.facilitator)
    answers, _ = buying(selling, BUYERS[18], 2)
    assert [answer.status_code for answer in answers] == [200, 200]
    managing = manager(selling, recorded)

    async def claiming() -> None:
        await selling.seller.offers.start()
        await managing.claim()

    settlements = world.facilitator(url).settlements
    strict = Facilitator(settlements, FacilitatorBounds(payees=frozenset({OTHER})))
    selling.facilitator = recorded.inner = _Bounded(strict)
    sent, before = world.sent_by(FACILITATOR.address), world.balance(SHOP.address)
    with pytest.raises(RuntimeError, match=PAYEE):
        asyncio.run(claiming())
    claim, requirements = recorded.calls["claim"]
    allowed = requirements.model_copy(update={"pay_to": OTHER})
    refused(strict, "claim", (claim, allowed), PAYEE)
    sweep = PaymentPayload(payload=PAYLOADS["sweep"][1], accepted=claim.accepted)
    refused(strict, "sweep", (sweep, allowed), PAYEE)
    assert world.sent_by(FACILITATOR.address) == sent
    open_to_shop = Facilitator(settlements, BOUNDS)
    assert open_to_shop.settle(claim, requirements).success
    assert open_to_shop.settle(sweep, requirements).success
    assert world.sent_by(FACILITATOR.address) == sent + 2
    assert world.balance(SHOP.address) == before + 200


class _Bounded:
    """The client interface of a facilitator, in this process."""

    def __init__(self, facilitator: Facilitator) -> None:
        self.get_supported = facilitator.supported
        self._facilitator = facilitator

    async def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        return self._facilitator.verify(payload, requirements)

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        return self._facilitator.settle(payload, requirements)
