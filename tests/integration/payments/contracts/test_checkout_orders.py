"""Random interleavings of orders, permits, strangers and revocations at one checkout, against a ledger in Python."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.payments.contracts import load
from payments.contracts.onchain import OnChain, Reverted, deploy
from payments.contracts.people import People
from payments.contracts.signing import Domain, Signature

DEADLINE = 2_000_000_000
BUYERS = ("buyer", "other")
# Few amounts, so that the remainder of one order often equals another order's maximum.
MAXIMA = st.lists(st.integers(1, 3), min_size=8, max_size=8)
AMOUNTS = st.sampled_from([1, 1, 1, 2, 2, 3, 0, 4])
WHO = st.sampled_from(["buyer", "buyer", "buyer", "other"])
# Offset into a buyer's permits: the next one, then those already used up, last one first.
BACK = st.sampled_from([1, 1, 1, 0, 0, 2, 3])
# A different order in most cases.
ORDERS = st.one_of(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 2))
STEPS = st.one_of(
    st.tuples(st.just("capture"), WHO, BACK, AMOUNTS, ORDERS),
    st.tuples(st.just("capture"), WHO, BACK, AMOUNTS, ORDERS),
    st.tuples(st.just("submit"), WHO),
    st.tuples(st.just("revoke"), WHO),
    st.tuples(st.just("approve"), WHO, st.integers(0, 3)),
)


@dataclass
class Buyer:
    """The state of one buyer, who has signed a permit for every nonce."""

    maxima: list[int]
    """Maximum of the permit for each nonce."""
    nonce: int = 0
    allowance: int = 0
    submitted: set[int] = field(default_factory=set)
    """Nonces whose permits set the allowance; the other used nonces were revoked."""
    captured: dict[int, int] = field(default_factory=dict)
    """Captured amount of each permit."""
    last_nonce: int = 0
    last_left: int = 0
    own_doing: bool = False
    """True if the buyer set the allowance since the last capture."""

    def was_given(self, maximum: int) -> bool:
        """Return True if a permit with this maximum was submitted since the last capture."""
        return any(self.maxima[nonce] == maximum for nonce in self.submitted if nonce >= self.last_nonce)

    def allows(self, permit: int, amount: int) -> bool:
        """Return True if the documented rules of the contract let a permit capture an amount."""
        maximum = self.maxima[permit]
        if not 0 < amount <= maximum:
            return False
        if permit == self.nonce:
            return True
        in_time = self.last_nonce <= permit < self.nonce and self.nonce - permit <= 16
        return in_time and self.allowance == maximum != self.last_left


class Run:
    """One interleaving."""

    def __init__(self, token: OnChain, checkout: OnChain, domain: Domain, people: People, maxima: dict) -> None:
        self.token, self.checkout, self.domain, self.people = token, checkout, domain, people
        self.buyers = {name: Buyer(maxima[name]) for name in BUYERS}
        self.orders: set[bytes] = set()

    def sign(self, name: str, nonce: int, spender: str, value: int) -> Signature:
        account = getattr(self.people, name)
        terms = {"owner": account.address, "spender": spender, "value": value, "nonce": nonce, "deadline": DEADLINE}
        return self.domain.sign(account.key, "Permit", **terms)

    def submit(self, name: str, spender: str, value: int) -> None:
        """Submit the permit for the buyer's next nonce."""
        buyer, owner = self.buyers[name], getattr(self.people, name).address
        signature = self.sign(name, buyer.nonce, spender, value)
        self.token.send(self.people.stranger.address, "permit", owner, spender, value, DEADLINE, *signature)

    def step(self, kind: str, name: str, *given: int) -> None:
        buyer = self.buyers[name]
        if kind == "approve":
            (buyer.allowance,) = given
            buyer.own_doing = True
            owner = getattr(self.people, name).address
            self.token.send(owner, "approve", self.checkout.address, buyer.allowance)
        elif kind == "capture":
            back, amount, order = given
            if 0 <= buyer.nonce - back < len(buyer.maxima):
                self.capture(name, buyer.nonce - back, amount, order)
        elif buyer.nonce == len(buyer.maxima):
            return
        elif kind == "submit":
            buyer.allowance = buyer.maxima[buyer.nonce]
            self.submit(name, self.checkout.address, buyer.allowance)
            buyer.submitted.add(buyer.nonce)
            buyer.nonce += 1
        else:
            self.submit(name, self.people.minter.address, 1)
            buyer.nonce += 1

    def capture(self, name: str, permit: int, amount: int, order: int) -> None:
        buyer, order_id = self.buyers[name], order.to_bytes(32, "big")
        maximum = buyer.maxima[permit]
        signature = self.sign(name, permit, self.checkout.address, maximum)
        owner = getattr(self.people, name).address
        arguments = (order_id, owner, amount, maximum, DEADLINE, *signature)
        expected = order_id not in self.orders and buyer.allows(permit, amount)
        outcome = "captured"
        try:
            self.checkout.send(self.people.merchant.address, "capture", *arguments)
        except Reverted as reverted:
            outcome = str(reverted)
        assert (outcome == "captured") is expected, outcome
        if not expected:
            return
        # The security property: a capture uses an allowance from a permit with exactly this maximum since the last
        # capture, or one that the buyer set by other means. It may be another permit if two have the same maximum.
        assert permit == buyer.nonce or buyer.was_given(maximum) or buyer.own_doing
        assert permit not in buyer.captured
        buyer.captured[permit] = amount
        self.orders.add(order_id)
        if permit == buyer.nonce:
            buyer.allowance = maximum
            buyer.nonce += 1
        buyer.allowance -= amount
        buyer.last_nonce, buyer.last_left, buyer.own_doing = buyer.nonce, buyer.allowance, False


@pytest.fixture
def checkout(token: OnChain, people: People) -> OnChain:
    artifact = load("Checkout")
    creation = artifact.creation(token.address, people.merchant.address)
    return deploy(token.chain, people.stranger.address, creation, artifact.abi)


@pytest.mark.timeout(400)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    maxima=st.fixed_dictionaries(dict.fromkeys(BUYERS, MAXIMA)),
    steps=st.lists(STEPS, min_size=4, max_size=10),
)
def test_order_cannot_exceed_its_own_permit(
    token: OnChain, checkout: OnChain, domain: Domain, people: People, maxima: dict, steps: list[tuple]
) -> None:
    run = Run(token, checkout, domain, people, maxima)
    with token.chain.rollback():
        for step in steps:
            run.step(*step)
        taken = {name: sum(buyer.captured.values()) for name, buyer in run.buyers.items()}
        assert token.call("balanceOf", people.merchant.address) == sum(taken.values())
        for name, buyer in run.buyers.items():
            owner = getattr(people, name).address
            assert token.call("allowance", owner, checkout.address) == buyer.allowance
            assert all(amount <= buyer.maxima[permit] for permit, amount in buyer.captured.items())
        assert all(checkout.call("captured", order) for order in run.orders)
