"""The message of a payment equals that of the service, which has its own implementation."""

import secrets
from typing import Any

import pytest

from foreseal.merchant import PaymentAuthorization, TokenDomain
from foreseal.payments.typed_data import Domain, ReceiveAuthorization

TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PAYER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
PAYEE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TERMS: dict[str, Any] = {
    "token": TokenDomain(TOKEN, 31337, "USDC"),
    "payer": PAYER,
    "payee": PAYEE,
    "amount": 12_340_000,
    "valid_before": 1_795_342_159,
}


def test_typed_data_equals_that_of_the_service() -> None:
    nonce = secrets.token_bytes(32)
    made = PaymentAuthorization(**TERMS, valid_after=7, nonce="0x" + nonce.hex()).typed_data()
    message = ReceiveAuthorization(PAYER, PAYEE, 12_340_000, 7, 1_795_342_159, nonce)
    assert made == message.typed_data(Domain("USDC", "2", 31337, TOKEN))


def test_payment_repeats_the_signed_terms() -> None:
    authorization = PaymentAuthorization(**TERMS)
    assert authorization.payment("0x" + "ab" * 65) == {
        "payer": PAYER,
        "amount": "12340000",
        "valid_after": 0,
        "valid_before": 1_795_342_159,
        "nonce": authorization.nonce,
        "signature": "0x" + "ab" * 65,
    }


def test_nonces_differ() -> None:
    assert PaymentAuthorization(**TERMS).nonce != PaymentAuthorization(**TERMS).nonce


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payer", "0x12"),
        ("payee", 5),
        ("nonce", "0x" + "ab" * 31),
        ("amount", "5"),
        ("amount", 1 << 256),
        ("valid_before", -1),
        ("valid_after", True),
    ],
)
def test_invalid_term_is_named(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        PaymentAuthorization(**{**TERMS, name: value})


def test_invalid_token_and_signature_are_named() -> None:
    with pytest.raises(ValueError, match=r"^address must be"):
        TokenDomain("USDC", 1, "USDC")
    with pytest.raises(ValueError, match=r"^chain_id must be"):
        TokenDomain(TOKEN, -1, "USDC")
    with pytest.raises(ValueError, match=r"^signature must be"):
        PaymentAuthorization(**TERMS).payment("0x")
