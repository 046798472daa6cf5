"""EIP-3009: both signature forms, the order of reverts, bounds to the second, one set of nonces per payer."""

import os
from collections.abc import Iterator

import pytest

from foreseal.testing import TestAccount
from payments.contracts.onchain import OnChain, Receipt, Reverted, refused
from payments.contracts.people import DOLLAR, People
from payments.contracts.signing import Authorization, Domain, Signature

ZERO = "0x" + "00" * 20
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
KINDS = {
    "transferWithAuthorization": "TransferWithAuthorization",
    "receiveWithAuthorization": "ReceiveWithAuthorization",
}
USED = "FiatTokenV2: authorization is used or canceled"
INVALID = "FiatTokenV2: invalid signature"
BLACKLISTED = "Blacklistable: account is blacklisted"


@pytest.fixture
def authorization(token: OnChain, people: People) -> Authorization:
    """Return the buyer's authorization for the merchant: five dollars within an hour."""
    now = token.chain.time
    return Authorization(people.buyer.address, people.merchant.address, 5 * DOLLAR, now - 1, now + 3600, os.urandom(32))


@pytest.fixture(params=["parts", "bytes"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return one of the two forms of a signature."""
    return request.param


class Payer:
    """A signer whose messages are submitted in one form or the other."""

    def __init__(self, token: OnChain, domain: Domain, account: TestAccount, form: str) -> None:
        self.token, self.domain, self.key, self.form = token, domain, account.key, form

    def sign(self, name: str, authorization: Authorization) -> Signature:
        return authorization.signed(self.domain, self.key, KINDS[name])

    def submit(
        self, sender: str, name: str, authorization: Authorization, signature: Signature | None = None
    ) -> Receipt:
        """Sign, unless a signature is given, and submit."""
        given = signature or self.sign(name, authorization)
        return self.token.send(sender, name, *authorization.terms, *in_form(given, self.form))

    def cancel(self, sender: str, authorizer: str, nonce: bytes) -> Receipt:
        signature = self.domain.sign(self.key, "CancelAuthorization", authorizer=authorizer, nonce=nonce)
        return self.token.send(sender, "cancelAuthorization", authorizer, nonce, *in_form(signature, self.form))


def in_form(signature: Signature, form: str) -> tuple:
    """Return a signature as the arguments of a form."""
    return tuple(signature) if form == "parts" else (signature.packed,)


@pytest.fixture
def buyer(token: OnChain, domain: Domain, people: People, form: str) -> Payer:
    return Payer(token, domain, people.buyer, form)


@pytest.mark.parametrize("name", KINDS)
def test_the_money_moves_once_and_the_nonce_is_logged_first(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization, name: str
) -> None:
    assert token.call("authorizationState", authorization.payer, authorization.nonce) is False
    receipt = buyer.submit(people.merchant.address, name, authorization)
    used, transfer = receipt.logs
    assert (used.event, used.values) == ("AuthorizationUsed", (authorization.payer, "0x" + authorization.nonce.hex()))
    assert (transfer.event, transfer.values) == (
        "Transfer",
        (authorization.payer, authorization.payee, authorization.value),
    )
    assert transfer.index == used.index + 1
    assert token.call("authorizationState", authorization.payer, authorization.nonce) is True
    assert token.call("balanceOf", authorization.payee) == authorization.value
    for other in KINDS:
        with refused(USED):
            buyer.submit(people.merchant.address, other, authorization)
    with refused(USED):
        buyer.cancel(people.merchant.address, authorization.payer, authorization.nonce)


def test_any_account_submits_a_transfer_only_the_payee_a_receipt(
    people: People, buyer: Payer, authorization: Authorization
) -> None:
    with refused("FiatTokenV2: caller must be the payee"):
        buyer.submit(people.stranger.address, "receiveWithAuthorization", authorization)
    buyer.submit(people.stranger.address, "transferWithAuthorization", authorization)


def test_transfer_and_receive_signatures_are_not_interchangeable(
    people: People, buyer: Payer, authorization: Authorization
) -> None:
    receive, transfer = (buyer.sign(name, authorization) for name in reversed(KINDS))
    with refused(INVALID):
        buyer.submit(people.merchant.address, "receiveWithAuthorization", authorization, transfer)
    with refused(INVALID):
        buyer.submit(people.merchant.address, "transferWithAuthorization", authorization, receive)


@pytest.mark.parametrize("name", KINDS)
def test_the_bounds_are_exclusive_to_the_second(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization, name: str
) -> None:
    begin = token.chain.time + 100
    bounded = authorization.but(valid_after=begin, valid_before=begin + 10)
    outcomes = {}
    for second in (begin - 1, begin, begin + 1, begin + 9, begin + 10, begin + 11):
        with token.chain.rollback() as chain:
            chain.rpc("evm_setNextBlockTimestamp", second)
            try:
                receipt = buyer.submit(people.merchant.address, name, bounded)
            except Reverted as reverted:
                outcomes[second - begin] = str(reverted)
            else:
                block = chain.rpc("eth_getBlockByNumber", hex(receipt.block), False)
                assert int(block["timestamp"], 16) == second
                outcomes[second - begin] = "moved"
    early, late = "FiatTokenV2: authorization is not yet valid", "FiatTokenV2: authorization is expired"
    assert outcomes == {-1: early, 0: early, 1: "moved", 9: "moved", 10: late, 11: late}


def test_the_earliest_failing_check_names_the_reason(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization
) -> None:
    """All checks fail at first; the test corrects the reported fault each time."""
    now, name = token.chain.time, "receiveWithAuthorization"
    used = authorization.but(value=1)
    buyer.submit(people.merchant.address, name, used)
    wrong = authorization.but(value=5000 * DOLLAR, valid_after=now + 10**6, valid_before=1, nonce=used.nonce)
    unsigned = buyer.sign("transferWithAuthorization", authorization)
    for account in (wrong.payer, wrong.payee):
        token.send(people.blacklister.address, "blacklist", account)
    token.send(people.pauser.address, "pause")

    def fails(reason: str, sender: str, signature: Signature | None = unsigned) -> None:
        with refused(reason):
            buyer.submit(sender, name, wrong, signature)

    stranger, shop = people.stranger.address, people.merchant.address
    fails("Pausable: paused", stranger)
    token.send(people.pauser.address, "unpause")
    fails(BLACKLISTED, stranger)
    token.send(people.blacklister.address, "unBlacklist", wrong.payer)
    fails(BLACKLISTED, stranger)
    token.send(people.blacklister.address, "unBlacklist", wrong.payee)
    fails("FiatTokenV2: caller must be the payee", stranger)
    fails("FiatTokenV2: authorization is not yet valid", shop)
    wrong = wrong.but(valid_after=0)
    fails("FiatTokenV2: authorization is expired", shop)
    wrong = wrong.but(valid_before=now + 3600)
    fails(USED, shop)
    wrong = wrong.but(nonce=authorization.nonce[::-1])
    fails(INVALID, shop)
    fails("ERC20: transfer amount exceeds balance", shop, None)
    wrong = wrong.but(value=1)
    buyer.submit(shop, name, wrong)


@pytest.mark.parametrize("party", ["payer", "payee"])
@pytest.mark.parametrize("name", KINDS)
def test_the_blacklist_stops_either_party(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization, name: str, party: str
) -> None:
    token.send(people.blacklister.address, "blacklist", getattr(authorization, party))
    with refused(BLACKLISTED):
        buyer.submit(people.merchant.address, name, authorization)


@pytest.mark.parametrize("name", KINDS)
def test_an_invalid_signature_names_the_reason(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization, name: str
) -> None:
    good, shop = buyer.sign(name, authorization), people.merchant.address
    high = Signature(55 - good.v, good.r, (ORDER - int.from_bytes(good.s, "big")).to_bytes(32, "big"))
    cases = {
        # The v is wrong as well.
        "ECRecover: invalid signature 's' value": high._replace(v=0),
        "ECRecover: invalid signature 'v' value": good._replace(v=good.v - 27),
        "ECRecover: invalid signature": good._replace(r=b"\xff" * 32),
        INVALID: good._replace(v=55 - good.v),
    }
    for reason, signature in cases.items():
        with refused(reason):
            buyer.submit(shop, name, authorization, signature)
    with refused(INVALID):
        buyer.submit(shop, name, authorization.but(value=1), good)
    for length in (0, 64, 66):
        with refused("ECRecover: invalid signature length"):
            token.send(shop, name, *authorization.terms, (good.packed + b"\0")[:length])


def test_an_invalid_cancellation_names_the_reason(
    token: OnChain, domain: Domain, people: People, authorization: Authorization
) -> None:
    terms = {"authorizer": authorization.payer, "nonce": authorization.nonce}
    good, anybody = domain.sign(people.buyer.key, "CancelAuthorization", **terms), people.stranger.address
    high = Signature(55 - good.v, good.r, (ORDER - int.from_bytes(good.s, "big")).to_bytes(32, "big"))
    for reason, signature in {
        "ECRecover: invalid signature length": good.packed[:64],
        "ECRecover: invalid signature 's' value": high.packed,
        "ECRecover: invalid signature 'v' value": good._replace(v=29).packed,
        "ECRecover: invalid signature": good._replace(r=b"\xff" * 32).packed,
        INVALID: good._replace(v=55 - good.v).packed,
    }.items():
        with refused(reason):
            token.send(anybody, "cancelAuthorization", *terms.values(), signature)


def test_signature_with_high_s_is_rejected(people: People, buyer: Payer, authorization: Authorization) -> None:
    good, shop = buyer.sign("transferWithAuthorization", authorization), people.merchant.address
    # At the maximum s the signature is valid, but recovers to another address than the buyer's.
    for s, reason in ((ORDER // 2, INVALID), (ORDER // 2 + 1, "ECRecover: invalid signature 's' value")):
        with refused(reason):
            altered = good._replace(s=s.to_bytes(32, "big"))
            buyer.submit(shop, "transferWithAuthorization", authorization, altered)


def test_the_zero_address_is_neither_payer_nor_payee(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization
) -> None:
    with refused("ERC20: transfer to the zero address"):
        buyer.submit(people.stranger.address, "transferWithAuthorization", authorization.but(payee=ZERO))
    # The zero address has no valid signature, not even one whose recovery fails.
    with refused(INVALID):
        buyer.submit(people.stranger.address, "transferWithAuthorization", authorization.but(payer=ZERO))


def test_pause_blocks_transfer_and_receipt(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization
) -> None:
    token.send(people.pauser.address, "pause")
    for name in KINDS:
        with refused("Pausable: paused"):
            buyer.submit(people.merchant.address, name, authorization)


def test_a_cancellation_uses_up_the_nonce_and_moves_nothing(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization
) -> None:
    receipt = buyer.cancel(people.stranger.address, authorization.payer, authorization.nonce)
    assert [(log.event, log.values) for log in receipt.logs] == [
        ("AuthorizationCanceled", (authorization.payer, "0x" + authorization.nonce.hex()))
    ]
    assert token.call("authorizationState", authorization.payer, authorization.nonce) is True
    for name in KINDS:
        with refused(USED):
            buyer.submit(people.merchant.address, name, authorization)
    with refused(USED):
        buyer.cancel(people.stranger.address, authorization.payer, authorization.nonce)


def test_pause_blocks_a_cancellation_and_the_blacklist_does_not(
    token: OnChain, people: People, buyer: Payer, authorization: Authorization
) -> None:
    token.send(people.blacklister.address, "blacklist", authorization.payer)
    token.send(people.pauser.address, "pause")
    with refused("Pausable: paused"):
        buyer.cancel(people.stranger.address, authorization.payer, authorization.nonce)
    token.send(people.pauser.address, "unpause")
    buyer.cancel(people.stranger.address, authorization.payer, authorization.nonce)


def test_only_the_payer_cancels(token: OnChain, people: People, buyer: Payer, authorization: Authorization) -> None:
    with refused(INVALID):
        buyer.cancel(people.stranger.address, people.other.address, authorization.nonce)


def test_nonce_is_scoped_to_one_payer(
    token: OnChain, domain: Domain, people: People, buyer: Payer, authorization: Authorization, form: str
) -> None:
    shop = people.merchant.address
    buyer.submit(shop, "receiveWithAuthorization", authorization)
    other = Payer(token, domain, people.other, form)
    other.submit(shop, "receiveWithAuthorization", authorization.but(payer=people.other.address))
    assert token.call("balanceOf", shop) == 2 * authorization.value
