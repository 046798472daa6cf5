"""Signed messages, against the vector of wallets in use and against the EIPs' own types."""

import contextlib
import json

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.typed_data import (
    Cancellation,
    Domain,
    Permit,
    ReceiveAuthorization,
    TransferAuthorization,
    TypedMessage,
)

KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
DOMAIN = Domain("USDC", "2", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e")
UNTIL = 2_000_000_000
NONCE = b"\x11" * 32
VECTOR: list[tuple[TypedMessage, str, str]] = [
    (
        TransferAuthorization(PAYER, PAYEE, 10_000, 0, UNTIL, NONCE),
        "0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267",
        "0xf7271a4c2d00aa62460d9bd762ce38d0bf12c5b4bb788045bf9334152295d598",
    ),
    (
        ReceiveAuthorization(PAYER, PAYEE, 10_000, 0, UNTIL, NONCE),
        "0xd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8",
        "0x81f1d810abd09a97e4353067ac990a1e360271b555111ac50b8b4b447cb22709",
    ),
    (
        Cancellation(PAYER, NONCE),
        "0x158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429",
        "0x4f06a47d69ed4c71e1fa03eea05596fca729aa164df797b10fdf02b85d223d6a",
    ),
    (
        Permit(PAYER, PAYEE, 10_000, 0, UNTIL),
        "0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9",
        "0xaab4d8cad0eca8e6793c89f9f1a4eb2cf404ffd1936f4ed13b09c464bd36d91d",
    ),
]
each = pytest.mark.parametrize(("message", "type_hash", "digest"), VECTOR, ids=lambda value: type(value).__name__)


@each
def test_types_and_digests_match_existing_wallets(message: TypedMessage, type_hash: str, digest: str) -> None:
    assert "0x" + message.type_hash().hex() == type_hash
    assert "0x" + message.digest(DOMAIN).hex() == digest


@each
def test_typed_data_for_wallets_equals_the_verified_message(message: TypedMessage, type_hash: str, digest: str) -> None:
    given = json.loads(json.dumps(message.typed_data(DOMAIN)))
    signature = bytes(Account.sign_message(encode_typed_data(full_message=given), KEY).signature)
    assert message.sign(DOMAIN, KEY) == signature
    assert message.signer(DOMAIN, signature) == PAYER
    elsewhere = Domain("USDC", "2", 8453, DOMAIN.contract)
    assert message.signer(elsewhere, signature) != PAYER


def test_invalid_signature_is_named() -> None:
    message = VECTOR[0][0]
    for signature in (b"", b"\0" * 64, b"\0" * 65, b"\xff" * 65):
        with pytest.raises(ValueError, match="signature: "):
            message.signer(DOMAIN, signature)


def test_signature_that_the_token_would_reject_is_invalid() -> None:
    """Other libraries recover a signer from it, so it would be stored but could never be captured."""
    message = VECTOR[0][0]
    signature = message.sign(DOMAIN, KEY)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    upper = (order - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
    other = signature[:32] + upper + bytes([55 - signature[64]])
    zero_based = signature[:64] + bytes([signature[64] - 27])
    digest = encode_typed_data(full_message=json.loads(json.dumps(message.typed_data(DOMAIN))))
    for refused, word in [(other, "EIP-2"), (zero_based, "27 or 28")]:
        assert Account.recover_message(digest, signature=refused) == PAYER
        with pytest.raises(ValueError, match=word):
            message.signer(DOMAIN, refused)


@given(st.binary(min_size=65, max_size=65))
def test_random_bytes_yield_a_signer_or_a_value_error(signature: bytes) -> None:
    signature = signature[:32] + bytes([signature[32] % 128]) + signature[33:64] + bytes([27 + signature[64] % 2])
    with contextlib.suppress(ValueError):
        assert VECTOR[0][0].signer(DOMAIN, signature).startswith("0x")


def test_invalid_fields_are_named() -> None:
    def make(**wrong: object) -> None:
        fields = {"payer": PAYER, "payee": PAYEE, "value": 1, "valid_after": 0, "valid_before": UNTIL, "nonce": NONCE}
        ReceiveAuthorization(**(fields | wrong))  # type: ignore[arg-type]

    make()
    for name, value, error in [
        ("payer", "0x12", ValueError),
        ("payee", PAYEE.replace("C", "c", 1), ValueError),
        ("value", 1.0, TypeError),
        ("value", -1, ValueError),
        ("valid_before", 2**256, ValueError),
        ("nonce", b"\0" * 31, ValueError),
        ("nonce", "0xzz", ValueError),
        ("nonce", 32, TypeError),
    ]:
        with pytest.raises(error, match=f"^{name}: "):
            make(**{name: value})
