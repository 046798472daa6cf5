"""EIP-2612: both signature forms, the deadline to the second, nonces in order."""

import pytest

from payments.contracts.onchain import OnChain, Receipt, Reverted, refused
from payments.contracts.people import People
from payments.contracts.signing import Domain, Signature

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
ZERO = "0x" + "00" * 20


@pytest.fixture(params=["parts", "bytes"])
def form(request: pytest.FixtureRequest) -> str:
    """Return one of the two forms of a signature."""
    return request.param


class Permitting:
    """The buyer's permits for the merchant."""

    def __init__(self, token: OnChain, domain: Domain, people: People, form: str) -> None:
        self.token, self.domain, self.form = token, domain, form
        self.owner, self.key, self.spender = people.buyer.address, people.buyer.key, people.merchant.address
        self.sender = people.stranger.address

    def sign(self, value: int, deadline: int, nonce: int = 0, spender: str | None = None) -> Signature:
        return self.domain.sign(
            self.key,
            "Permit",
            owner=self.owner,
            spender=spender or self.spender,
            value=value,
            nonce=nonce,
            deadline=deadline,
        )

    def submit(self, value: int, deadline: int, signature: Signature, spender: str | None = None) -> Receipt:
        given = tuple(signature) if self.form == "parts" else (signature.packed,)
        return self.token.send(self.sender, "permit", self.owner, spender or self.spender, value, deadline, *given)


@pytest.fixture
def permits(token: OnChain, domain: Domain, people: People, form: str) -> Permitting:
    return Permitting(token, domain, people, form)


def test_a_permit_sets_the_allowance_and_counts_up_the_nonce(token: OnChain, permits: Permitting) -> None:
    deadline = token.chain.time + 60
    signature = permits.sign(5, deadline)
    receipt = permits.submit(5, deadline, signature)
    assert [(log.event, log.values) for log in receipt.logs] == [("Approval", (permits.owner, permits.spender, 5))]
    assert token.call("allowance", permits.owner, permits.spender) == 5
    assert token.call("nonces", permits.owner) == 1
    with refused("EIP2612: invalid signature"):
        permits.submit(5, deadline, signature)
    permits.submit(3, deadline, permits.sign(3, deadline, nonce=1))
    assert token.call("allowance", permits.owner, permits.spender) == 3


def test_the_deadline_is_inclusive_to_the_second(token: OnChain, permits: Permitting) -> None:
    deadline = token.chain.time + 60
    signature, outcomes = permits.sign(5, deadline), {}
    for second in (deadline - 1, deadline, deadline + 1):
        with token.chain.rollback() as chain:
            chain.rpc("evm_setNextBlockTimestamp", second)
            try:
                permits.submit(5, deadline, signature)
                outcomes[second - deadline] = "permitted"
            except Reverted as reverted:
                outcomes[second - deadline] = str(reverted)
    assert outcomes == {-1: "permitted", 0: "permitted", 1: "FiatTokenV2: permit is expired"}


def test_permit_without_deadline_is_accepted(token: OnChain, permits: Permitting) -> None:
    permits.submit(5, 2**256 - 1, permits.sign(5, 2**256 - 1))
    assert token.call("allowance", permits.owner, permits.spender) == 5


def test_permit_checks_pause_deadline_and_signature_in_order(
    token: OnChain, people: People, permits: Permitting
) -> None:
    wrong = Signature(29, b"\x01" * 32, b"\x01" * 32)
    token.send(people.pauser.address, "pause")
    with refused("Pausable: paused"):
        permits.submit(5, 1, wrong)
    token.send(people.pauser.address, "unpause")
    with refused("FiatTokenV2: permit is expired"):
        permits.submit(5, 1, wrong)
    with refused("ECRecover: invalid signature 'v' value"):
        permits.submit(5, token.chain.time + 60, wrong)


def test_an_invalid_signature_names_the_reason(token: OnChain, permits: Permitting) -> None:
    deadline = token.chain.time + 60
    good = permits.sign(5, deadline)
    high = Signature(55 - good.v, good.r, (ORDER - int.from_bytes(good.s, "big")).to_bytes(32, "big"))
    for reason, value, signature in [
        ("ECRecover: invalid signature 's' value", 5, high),
        ("ECRecover: invalid signature 'v' value", 5, good._replace(v=0)),
        ("ECRecover: invalid signature", 5, good._replace(r=b"\xff" * 32)),
        ("EIP2612: invalid signature", 6, good),
    ]:
        with refused(reason):
            permits.submit(value, deadline, signature)
    with refused("ECRecover: invalid signature length"):
        token.send(permits.sender, "permit", permits.owner, permits.spender, 5, deadline, b"\0" * 64)


def test_permit_ignores_the_blacklist_and_rejects_the_zero_address(
    token: OnChain, people: People, permits: Permitting
) -> None:
    deadline = token.chain.time + 60
    for account in (permits.owner, permits.spender):
        token.send(people.blacklister.address, "blacklist", account)
    permits.submit(5, deadline, permits.sign(5, deadline))
    with refused("ERC20: approve to the zero address"):
        permits.submit(5, deadline, permits.sign(5, deadline, nonce=1, spender=ZERO), spender=ZERO)
