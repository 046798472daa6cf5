"""The typed-data vectors: hashed by eth-account, and accepted by the token."""

import pytest

from payments.contracts.onchain import OnChain
from payments.contracts.people import People
from payments.contracts.signing import Domain, sign_digest

KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
NONCE = b"\x11" * 32
TERMS = {
    "from": PAYER,
    "to": PAYEE,
    "value": 10000,
    "validAfter": 0,
    "validBefore": 2_000_000_000,
    "nonce": NONCE,
}
CANCEL = {"authorizer": PAYER, "nonce": NONCE}
PERMIT = {"owner": PAYER, "spender": PAYEE, "value": 10000, "nonce": 0, "deadline": 2_000_000_000}
DIGESTS = [
    ("TransferWithAuthorization", TERMS, "f7271a4c2d00aa62460d9bd762ce38d0bf12c5b4bb788045bf9334152295d598"),
    ("ReceiveWithAuthorization", TERMS, "81f1d810abd09a97e4353067ac990a1e360271b555111ac50b8b4b447cb22709"),
    ("CancelAuthorization", CANCEL, "4f06a47d69ed4c71e1fa03eea05596fca729aa164df797b10fdf02b85d223d6a"),
    ("Permit", PERMIT, "aab4d8cad0eca8e6793c89f9f1a4eb2cf404ffd1936f4ed13b09c464bd36d91d"),
]


@pytest.mark.parametrize(("kind", "message", "digest"), DIGESTS, ids=[kind for kind, _, _ in DIGESTS])
def test_digest_equals_that_of_the_vector(domain: Domain, kind: str, message: dict, digest: str) -> None:
    assert domain.digest(kind, **message).hex() == digest


def test_token_accepts_the_signature_of_each_vector(token: OnChain, people: People) -> None:
    assert people.buyer.address == PAYER.lower()
    transfer, receive, cancel, permit = (sign_digest(KEY, bytes.fromhex(digest)) for _, _, digest in DIGESTS)
    terms = tuple(TERMS.values())
    for name, signature in (("transferWithAuthorization", transfer), ("receiveWithAuthorization", receive)):
        with token.chain.rollback():
            token.send(PAYEE, name, *terms, *signature)
            assert token.call("balanceOf", PAYEE) == 10_000
    with token.chain.rollback():
        token.send(PAYEE, "cancelAuthorization", PAYER, NONCE, *cancel)
        assert token.call("authorizationState", PAYER, NONCE) is True
    token.send(PAYEE, "permit", PAYER, PAYEE, 10_000, 2_000_000_000, *permit)
    assert token.call("allowance", PAYER, PAYEE) == 10_000
