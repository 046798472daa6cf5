"""Contract wallets: a signer with code is verified by ERC-1271 only."""

import pytest

from foreseal.testing import TestAccount
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import DOLLAR, People
from payments.contracts.signing import Authorization, Domain, Signature

ANSWERS = {"WrongValue": 1, "TooShort": 2, "Revert": 3, "MagicWithDirt": 4}
NONCE = b"\x22" * 32
INVALID = "FiatTokenV2: invalid signature"


@pytest.fixture
def wallet(token: OnChain, people: People) -> OnChain:
    """Return the buyer's wallet, with ten dollars."""
    artifact = double("Wallet")
    wallet = deploy(token.chain, people.stranger.address, artifact.creation(people.buyer.address), artifact.abi)
    token.send(people.buyer.address, "transfer", wallet.address, 10 * DOLLAR)
    return wallet


@pytest.fixture
def authorization(token: OnChain, people: People, wallet: OnChain) -> Authorization:
    return Authorization(wallet.address, people.merchant.address, DOLLAR, 0, token.chain.time + 3600, NONCE)


def cancellation(domain: Domain, wallet: OnChain, owner: TestAccount) -> Signature:
    return domain.sign(owner.key, "CancelAuthorization", authorizer=wallet.address, nonce=NONCE)


@pytest.mark.parametrize("form", ["parts", "bytes", "long"])
@pytest.mark.parametrize("kind", ["Transfer", "Receive"])
def test_a_wallet_pays_with_its_owners_signature(
    token: OnChain, domain: Domain, people: People, authorization: Authorization, kind: str, form: str
) -> None:
    signature = authorization.signed(domain, people.buyer.key, f"{kind}WithAuthorization")
    # A wallet's signature may have any length; only the wallet interprets it.
    long = signature.r + signature.s + b"and more" + bytes([signature.v])
    given = {"parts": tuple(signature), "bytes": (signature.packed,), "long": (long,)}[form]
    receipt = token.send(people.merchant.address, f"{kind.lower()}WithAuthorization", *authorization.terms, *given)
    assert [log.event for log in receipt.logs] == ["AuthorizationUsed", "Transfer"]
    assert token.call("balanceOf", people.merchant.address) == DOLLAR


@pytest.mark.parametrize("form", ["parts", "bytes"])
def test_a_wallet_cancels_and_permits(
    token: OnChain, domain: Domain, people: People, wallet: OnChain, form: str
) -> None:
    signature, deadline = cancellation(domain, wallet, people.buyer), token.chain.time + 60
    given = tuple(signature) if form == "parts" else (signature.packed,)
    token.send(people.stranger.address, "cancelAuthorization", wallet.address, NONCE, *given)
    assert token.call("authorizationState", wallet.address, NONCE) is True
    terms = {"owner": wallet.address, "spender": people.merchant.address, "value": 5, "nonce": 0, "deadline": deadline}
    permit = domain.sign(people.buyer.key, "Permit", **terms)
    given = tuple(permit) if form == "parts" else (permit.packed,)
    token.send(people.stranger.address, "permit", wallet.address, people.merchant.address, 5, deadline, *given)
    assert token.call("allowance", wallet.address, people.merchant.address) == 5


@pytest.mark.parametrize("answer", ANSWERS)
def test_other_erc1271_result_is_rejected(
    token: OnChain, domain: Domain, people: People, wallet: OnChain, authorization: Authorization, answer: str
) -> None:
    wallet.send(people.stranger.address, "setAnswer", ANSWERS[answer])
    signature = authorization.signed(domain, people.buyer.key, "TransferWithAuthorization")
    with refused(INVALID):
        token.send(people.stranger.address, "transferWithAuthorization", *authorization.terms, signature.packed)
    cancel = cancellation(domain, wallet, people.buyer)
    with refused(INVALID):
        token.send(people.stranger.address, "cancelAuthorization", wallet.address, NONCE, *cancel)
    with refused("EIP2612: invalid signature"):
        token.send(
            people.stranger.address, "permit", wallet.address, people.merchant.address, 5, 2**256 - 1, *signature
        )


def test_account_with_code_needs_erc1271_approval(
    token: OnChain, domain: Domain, people: People, authorization: Authorization
) -> None:
    """The account's own key signed, as with an EIP-7702 delegation, but its code does not accept the signature."""
    signed = authorization.but(payer=people.buyer.address)
    signature = signed.signed(domain, people.buyer.key, "TransferWithAuthorization")
    with token.chain.rollback() as chain:
        chain.rpc("anvil_setCode", people.buyer.address, "0x00")
        with refused(INVALID):
            token.send(people.stranger.address, "transferWithAuthorization", *signed.terms, *signature)
    token.send(people.stranger.address, "transferWithAuthorization", *signed.terms, *signature)
