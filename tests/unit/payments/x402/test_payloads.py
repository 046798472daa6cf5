"""Validation of x402 input: accepted forms, and errors that name the field."""

from typing import Any

import orjson
import pytest
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.x402.payloads import Malformed, WireRequirements, read_body, validate_payload
from foreseal.payments.x402.payment_key import granted, settled

ACCOUNT = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
HASH = "0x" + "ab" * 32
CHANNEL = {
    "payer": ACCOUNT,
    "payerAuthorizer": ACCOUNT,
    "receiver": ACCOUNT,
    "receiverAuthorizer": ACCOUNT,
    "token": ACCOUNT,
    "withdrawDelay": 900,
    "salt": HASH,
}
VOUCHER = {"channelId": HASH, "maxClaimableAmount": "5", "signature": "0x"}
TRANSFER = {"from": ACCOUNT, "to": ACCOUNT, "value": "5", "validAfter": "0", "validBefore": "9", "nonce": HASH}
PERMIT = {
    "from": ACCOUNT,
    "permitted": {"token": ACCOUNT, "amount": "5"},
    "spender": ACCOUNT,
    "nonce": "7",
    "deadline": "9",
    "witness": {"to": ACCOUNT, "validAfter": "0"},
}

TWO_AUTHORIZATIONS = {
    "erc3009Authorization": {"validAfter": "0", "validBefore": "9", "salt": HASH, "signature": "0x"},
    "permit2Authorization": PERMIT | {"witness": {"channelId": HASH}, "signature": "0x"},
}


def demand(scheme: str = "exact", **changes: Any) -> dict[str, Any]:
    terms = {"scheme": scheme, "network": "eip155:84532", "asset": ACCOUNT, "amount": "5", "payTo": ACCOUNT}
    return terms | {"maxTimeoutSeconds": 60} | changes


def call(payload: Any, scheme: str = "exact", **changes: Any) -> dict[str, Any]:
    payment = {"x402Version": 2, "payload": payload, "accepted": demand(scheme)}
    return {"x402Version": 2, "paymentPayload": payment, "paymentRequirements": demand(scheme)} | changes


def read(body: Any) -> tuple[PaymentPayload, PaymentRequirements]:
    return read_body(orjson.dumps(body))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"paymentPayload": None}, "paymentPayload: must be an object, got None"),
        ({"paymentRequirements": demand(amount="-5")}, "paymentRequirements.amount: '-5' must match"),
        ({"paymentRequirements": demand(amount=str(2**256))}, "paymentRequirements.amount: exceeds uint256"),
        ({"paymentRequirements": demand(network="eip155:0")}, "paymentRequirements.network: 'eip155:0' must match"),
        (
            {"paymentRequirements": demand(extra={"receiverAuthorizer": [1]})},
            "paymentRequirements.extra.receiverAuthorizer: [1] must be a string",
        ),
        (
            {"paymentRequirements": demand(extra={"receiverAuthorizer": "0x12"})},
            "paymentRequirements.extra.receiverAuthorizer: '0x12' must match",
        ),
        (
            {"paymentRequirements": demand(extra={"withdrawDelay": {}})},
            "paymentRequirements.extra.withdrawDelay: {} must be a whole number",
        ),
        ({"paymentRequirements": demand(extra={"name": 5})}, "paymentRequirements.extra.name: 5 must be a string"),
        ({"paymentRequirements": demand(extra=None)}, "paymentRequirements.extra: must be an object, got None"),
        ({"paymentPayload": {"x402Version": 1}}, "paymentPayload.x402Version: 1 must be 2"),
        ({"paymentPayload": {"payload": {}}}, "paymentPayload.x402Version: is missing"),
    ],
)
def test_invalid_facilitator_call_names_the_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed) as error:
        read(call({}, **changes))
    assert str(error.value).startswith(message)


def test_further_members_of_extra_are_kept() -> None:
    extra = {"name": "USDC", "withdrawDelay": 900, "minDeposit": "7", "other": [1]}
    assert validate_payload(WireRequirements, demand(extra=extra)).extra == extra
    assert validate_payload(WireRequirements, demand()).extra == {}


def test_body_without_a_payment_is_rejected() -> None:
    for body, message in (([], "payment: must be an object, got []"), ({}, "paymentPayload: is missing")):
        with pytest.raises(Malformed) as error:
            read(body)
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("scheme", "payload", "message"),
    [
        ("free", {}, "accepted.scheme: 'free' must be exact, upto or batch-settlement"),
        ("exact", {"signature": "0x"}, "payload.authorization: is missing"),
        ("exact", {"authorization": TRANSFER | {"value": 5}, "signature": "0x"}, "payload.authorization.value: 5 must"),
        (
            "upto",
            {"permit2Authorization": PERMIT, "signature": "0x"},
            "payload.permit2Authorization.witness.facilitator: is missing",
        ),
        ("batch-settlement", {}, "payload: type is missing"),
        (
            "batch-settlement",
            {"type": "voucher"},
            "payload: type 'voucher' must be 'deposit', 'claim', 'settle', 'refund'",
        ),
        ("batch-settlement", {"type": "settle", "receiver": ACCOUNT}, "payload.token: is missing"),
        ("batch-settlement", {"type": "claim", "claims": []}, "payload.claims: must have at least 1 item"),
        (
            "batch-settlement",
            {
                "type": "deposit",
                "channelConfig": CHANNEL,
                "voucher": VOUCHER,
                "deposit": {"amount": "5", "authorization": {}},
            },
            "payload.deposit.authorization: has neither erc3009Authorization nor permit2Authorization",
        ),
        (
            "batch-settlement",
            {
                "type": "deposit",
                "channelConfig": CHANNEL,
                "voucher": VOUCHER,
                "deposit": {"amount": "5", "authorization": TWO_AUTHORIZATIONS},
            },
            "payload.deposit.authorization: has both erc3009Authorization and permit2Authorization",
        ),
    ],
)
def test_invalid_payload_names_the_field(scheme: str, payload: dict[str, Any], message: str) -> None:
    payment, requirements = read(call(payload, scheme))
    with pytest.raises(Malformed) as error:
        settled(payment, requirements)
    assert str(error.value).startswith(message)


def test_exact_permit_needs_no_facilitator() -> None:
    payment, requirements = read(call({"permit2Authorization": PERMIT, "signature": "0x"}))
    claim = settled(payment, requirements)
    assert (claim.amount, claim.deadline, int.from_bytes(claim.key.nonce, "big")) == (5, 9, 7)


def test_only_a_refund_request_may_repeat_a_voucher() -> None:
    voucher = {"type": "voucher", "channelConfig": CHANNEL, "voucher": VOUCHER}
    first, _ = read(call(voucher, "batch-settlement"))
    again, _ = read(call(voucher | {"more": 1}, "batch-settlement"))
    refund, _ = read(call(voucher | {"type": "refund"}, "batch-settlement"))
    assert granted(first).key == granted(again).key
    assert granted(first).key != granted(refund).key
    claim, _ = read(call({"type": "claim"}, "batch-settlement"))
    with pytest.raises(Malformed, match=r"payload: type 'claim' must be 'deposit', 'voucher', 'refund'"):
        granted(claim)
