"""Random batches, compared with a ledger in Python; conservation after each."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.testing import TestAccount
from payments.contracts.batches import Batches, Signed
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy
from payments.contracts.people import People
from payments.contracts.signing import Domain

PAUSED = "Pausable: paused"
BLACKLISTED = "Blacklistable: account is blacklisted"
EARLY = "FiatTokenV2: authorization is not yet valid"
EXPIRED = "FiatTokenV2: authorization is expired"
USED = "FiatTokenV2: authorization is used or canceled"
INVALID = "FiatTokenV2: invalid signature"
POOR = "ERC20: transfer amount exceeds balance"
# Reason of an authorization that nothing else spoils; None for a capture. A hostile wallet attacks by its payer's name.
KINDS = {
    "good": None,
    "used": USED,
    "canceled": USED,
    "early": EARLY,
    "expired": EXPIRED,
    "forged": INVALID,
    "repeated": None,
}
FUNDS = 100
ATTACKS = {"none": 0, "burn": 1, "return": 2, "revert": 3}


@dataclass
class Cast:
    """Payers with 100 units each: accounts, the wallet of an account, and hostile wallets."""

    batches: Batches
    payers: dict[str, TestAccount] = field(default_factory=dict)
    owners: dict[str, TestAccount] = field(default_factory=dict)
    contracts: dict[str, OnChain] = field(default_factory=dict)


@pytest.fixture
def cast(token: OnChain, domain: Domain, people: People) -> Cast:
    cast = Cast(Batches(token, domain, people))
    stranger = people.stranger.address
    cast.payers = {"rescuer": people.rescuer, "minter": people.minter, "blocked": people.pauser}
    cast.owners = dict(cast.payers)
    made = {"wallet": ("Wallet", (people.other.address,))}
    made |= dict.fromkeys(ATTACKS, ("HostileWallet", ()))
    for name, (contract, arguments) in made.items():
        artifact = double(contract)
        placed = deploy(token.chain, stranger, artifact.creation(*arguments), artifact.abi)
        cast.contracts[name] = placed
        cast.payers[name], cast.owners[name] = TestAccount(placed.address, ""), people.other
        if name in ATTACKS:
            placed.send(stranger, "play", ATTACKS[name], 0)
    for payer in cast.payers.values():
        token.send(people.buyer.address, "transfer", payer.address, FUNDS)
    token.send(people.blacklister.address, "blacklist", people.pauser.address)
    return cast


def spoil(cast: Cast, kind: str, payer: str, value: int, earlier: list[Signed]) -> Signed:
    """Return an authorization of this kind."""
    batches, people = cast.batches, cast.batches.people
    account, owner = cast.payers[payer], cast.owners[payer]
    if kind == "repeated" and earlier:
        return earlier[value % len(earlier)]
    if kind == "early":
        return batches.sign(account, value, owner, valid_after=1_999_999_999)
    if kind == "expired":
        return batches.sign(account, value, owner, valid_before=1)
    if kind == "forged":
        return batches.sign(account, value, people.owner)
    signed = batches.sign(account, value, owner)
    if kind == "canceled" and payer not in ("burn", "return", "revert"):
        terms = {"authorizer": account.address, "nonce": signed.terms.nonce}
        canceled = batches.domain.sign(owner.key, "CancelAuthorization", **terms)
        batches.token.send(people.stranger.address, "cancelAuthorization", *terms.values(), *canceled)
    if kind == "used" and payer not in ("blocked", "burn", "return", "revert"):
        free = batches.sign(account, 0, owner, nonce=signed.terms.nonce)
        batches.capture(free)
    return signed


def expected_reason(batches: Batches, kind: str, payer: str, signed: Signed, has: int) -> str | None:
    """Return the first reason in the order of the token's checks; None for a capture."""
    if payer == "blocked":
        return BLACKLISTED
    if kind in ("early", "expired"):
        return KINDS[kind]
    if batches.used(signed):
        return USED
    if payer in ("burn", "return", "revert"):
        return "attack"
    # A hostile wallet that does not attack accepts every signature.
    if kind == "forged" and payer != "none":
        return INVALID
    return POOR if signed.terms.value > has else None


ITEM = st.tuples(
    st.sampled_from(list(KINDS)),
    st.sampled_from(["rescuer", "minter", "wallet", "none", "blocked", "burn", "return", "revert"]),
    st.integers(0, 60),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=st.lists(st.lists(ITEM, min_size=1, max_size=6), min_size=1, max_size=3),
    stray=st.integers(0, 3),
    paused=st.booleans(),
    form=st.sampled_from(["parts", "bytes"]),
)
def test_random_batches_conserve_every_unit(
    cast: Cast, plan: list[list[tuple[str, str, int]]], stray: int, form: str, *, paused: bool
) -> None:
    batches, token, people = cast.batches, cast.batches.token, cast.batches.people
    with token.chain.rollback():
        token.send(people.buyer.address, "transfer", batches.contract.address, stray)
        has, earned, supply = dict.fromkeys(cast.payers, FUNDS), 0, token.call("totalSupply")
        by_address = {payer.address: name for name, payer in cast.payers.items()}
        for number, items in enumerate(plan):
            batch: list[Signed] = []
            kinds: list[str] = []
            for kind, payer, value in items:
                signed = spoil(cast, kind, payer, value, batch)
                # A repetition fails or succeeds for the same reasons as the first.
                kinds.append(kinds[batch.index(signed)] if signed in batch else kind)
                batch.append(signed)
            pause = paused and number == 0
            captured: dict[tuple[str, bytes], int] = {}
            failed: dict[tuple[str, bytes], str] = {}
            for kind, signed in zip(kinds, batch, strict=True):
                payer = by_address[signed.terms.payer]
                reason = PAUSED if pause else expected_reason(batches, kind, payer, signed, has[payer])
                if signed.key in captured:
                    continue
                if reason is None:
                    captured[signed.key] = signed.terms.value
                    has[payer] -= signed.terms.value
                    failed.pop(signed.key, None)
                else:
                    failed.setdefault(signed.key, reason)
            if pause:
                token.send(people.pauser.address, "pause")
            receipt = batches.capture(*batch) if form == "parts" else batches.capture_wallets(*batch)
            if pause:
                token.send(people.pauser.address, "unpause")
            outcome = batches.outcome(receipt)
            assert {key: transfer.amount for key, transfer in outcome.captured.items()} == captured
            assert list(outcome.failed) == list(failed)
            for key, reason in failed.items():
                assert reason in ("attack", outcome.failed[key].reason)
            earned += sum(captured.values())
            assert (outcome.amount, batches.received(), batches.held()) == (sum(captured.values()), earned, stray)
            assert {name: token.call("balanceOf", payer.address) for name, payer in cast.payers.items()} == has
        assert token.call("totalSupply") == supply
