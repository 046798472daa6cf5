"""Holder policies: allow-lists and block-lists for sender, receiver and executor."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.codec import keccak
from payments.contracts.onchain import OnChain, refused
from payments.contracts.people import DOLLAR, People
from payments.contracts.signing import Authorization, Domain

SENDER, RECEIVER, EXECUTOR = (
    keccak(f"TRANSFER_{scope}_POLICY".encode()) for scope in ("SENDER", "RECEIVER", "EXECUTOR")
)
BLOCK_LIST, ALLOW_LIST = 0, 1
ALWAYS_ALLOW, ALWAYS_BLOCK = 0, 2**56 + 1


def created(token: OnChain, people: People, kind: int, *accounts: str) -> int:
    """Return the id of a new policy."""
    receipt = token.send(people.owner.address, "createPolicy", kind, accounts)
    made, listed = receipt.logs
    assert (made.event, made.values[1]) == ("PolicyCreated", kind)
    assert (listed.event, listed.values) == ("PolicyMembersUpdated", (made.values[0], True, accounts))
    return made.values[0]


def enforce(token: OnChain, people: People, scope: bytes, policy: int) -> None:
    """Activate a policy."""
    before = token.call("policyId", scope)
    receipt = token.send(people.owner.address, "updatePolicy", scope, policy)
    assert [(log.event, log.values) for log in receipt.logs] == [
        ("PolicyUpdated", ("0x" + scope.hex(), before, policy))
    ]
    assert token.call("policyId", scope) == policy


def forbidden(scope: bytes, policy: int) -> str:
    """Return the revert reason of a forbidden transfer."""
    return f"PolicyForbids(0x{scope.hex()}, {policy})"


def test_new_token_allows_every_account(token: OnChain, people: People) -> None:
    assert [token.call("policyId", scope) for scope in (SENDER, RECEIVER, EXECUTOR)] == [ALWAYS_ALLOW] * 3
    assert token.call("isAuthorized", ALWAYS_ALLOW, people.stranger.address) is True
    assert token.call("isAuthorized", ALWAYS_BLOCK, people.stranger.address) is False
    assert (token.call("ALWAYS_ALLOW"), token.call("ALWAYS_BLOCK")) == (ALWAYS_ALLOW, ALWAYS_BLOCK)
    names = ("TRANSFER_SENDER_POLICY", "TRANSFER_RECEIVER_POLICY", "TRANSFER_EXECUTOR_POLICY")
    assert [token.call(name) for name in names] == ["0x" + scope.hex() for scope in (SENDER, RECEIVER, EXECUTOR)]


def test_policy_id_has_a_kind_and_a_counter(token: OnChain, people: People) -> None:
    assert created(token, people, BLOCK_LIST) == 2
    assert created(token, people, ALLOW_LIST) == 2**56 + 3
    assert created(token, people, BLOCK_LIST, people.buyer.address) == 4


def test_policy_list_allows_or_blocks_its_members(token: OnChain, people: People) -> None:
    buyer, other = people.buyer.address, people.other.address
    allow = created(token, people, ALLOW_LIST, buyer)
    block = created(token, people, BLOCK_LIST, buyer)
    assert [token.call("isAuthorized", allow, account) for account in (buyer, other)] == [True, False]
    assert [token.call("isAuthorized", block, account) for account in (buyer, other)] == [False, True]
    token.send(people.owner.address, "updatePolicyMembers", allow, False, [buyer])
    token.send(people.owner.address, "updatePolicyMembers", allow, True, [other])
    assert [token.call("isAuthorized", allow, account) for account in (buyer, other)] == [False, True]


@pytest.mark.parametrize("kind", [BLOCK_LIST, ALLOW_LIST])
def test_each_scope_checks_its_party(token: OnChain, people: People, kind: int) -> None:
    buyer, shop, other = people.buyer.address, people.merchant.address, people.other.address
    token.send(buyer, "approve", shop, 100)
    parties = {SENDER: buyer, RECEIVER: other, EXECUTOR: shop}
    for scope, party in parties.items():
        with token.chain.rollback():
            others = [account.address for account in vars(people).values() if account.address != party]
            policy = created(token, people, kind, *(others if kind == ALLOW_LIST else [party]))
            enforce(token, people, scope, policy)
            for name, more in (("transferFrom", ()), ("transferFromWithMemo", (b"\1" * 32,))):
                with refused(forbidden(scope, policy)):
                    token.send(shop, name, buyer, other, 1, *more)
            token.send(people.owner.address, "updatePolicyMembers", policy, kind == ALLOW_LIST, [party])
            token.send(shop, "transferFrom", buyer, other, 1)
            enforce(token, people, scope, ALWAYS_BLOCK)
            with refused(forbidden(scope, ALWAYS_BLOCK)):
                token.send(shop, "transferFrom", buyer, other, 1)


def test_own_transfer_has_no_executor_check(token: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    enforce(token, people, EXECUTOR, ALWAYS_BLOCK)
    token.send(buyer, "transfer", shop, 1)
    token.send(buyer, "transferWithMemo", shop, 1, b"\0" * 32)
    token.send(buyer, "approve", buyer, 1)
    token.send(buyer, "transferFrom", buyer, shop, 1)


def test_submitter_of_an_authorization_is_its_executor(token: OnChain, domain: Domain, people: People) -> None:
    authorization = Authorization(
        people.buyer.address, people.merchant.address, 1, 0, token.chain.time + 60, os.urandom(32)
    )
    policy = created(token, people, BLOCK_LIST, people.stranger.address)
    enforce(token, people, EXECUTOR, policy)
    given = (*authorization.terms, *authorization.signed(domain, people.buyer.key, "TransferWithAuthorization"))
    with refused(forbidden(EXECUTOR, policy)):
        token.send(people.stranger.address, "transferWithAuthorization", *given)
    assert token.call("authorizationState", authorization.payer, authorization.nonce) is False
    for scope in (SENDER, RECEIVER):
        with token.chain.rollback():
            enforce(token, people, scope, ALWAYS_BLOCK)
            with refused(forbidden(scope, ALWAYS_BLOCK)):
                token.send(people.other.address, "transferWithAuthorization", *given)
    token.send(people.other.address, "transferWithAuthorization", *given)


def test_transfer_checks_pause_blacklist_policy_and_balance_in_order(token: OnChain, people: People) -> None:
    poor, shop = people.stranger.address, people.merchant.address
    for scope in (SENDER, RECEIVER, EXECUTOR):
        enforce(token, people, scope, ALWAYS_BLOCK)
    token.send(people.blacklister.address, "blacklist", shop)
    token.send(people.pauser.address, "pause")
    token_takes = ("transfer", shop, 5000 * DOLLAR)
    with refused("Pausable: paused"):
        token.send(poor, *token_takes)
    token.send(people.pauser.address, "unpause")
    with refused("Blacklistable: account is blacklisted"):
        token.send(poor, *token_takes)
    token.send(people.blacklister.address, "unBlacklist", shop)
    for scope in (SENDER, RECEIVER):
        with refused(forbidden(scope, ALWAYS_BLOCK)):
            token.send(poor, *token_takes)
        enforce(token, people, scope, ALWAYS_ALLOW)
    with refused("ERC20: transfer amount exceeds balance"):
        token.send(poor, *token_takes)
    with refused("ERC20: transfer amount exceeds allowance"):
        token.send(shop, "transferFrom", poor, shop, 1)
    token.send(poor, "approve", shop, 1)
    with refused(forbidden(EXECUTOR, ALWAYS_BLOCK)):
        token.send(shop, "transferFrom", poor, shop, 1)


def test_only_the_owner_changes_policies(token: OnChain, people: People) -> None:
    policy = created(token, people, ALLOW_LIST)
    for call in (
        ("createPolicy", ALLOW_LIST, []),
        ("updatePolicyMembers", policy, True, [people.buyer.address]),
        ("updatePolicy", SENDER, policy),
    ):
        with refused("Ownable: caller is not the owner"):
            token.send(people.stranger.address, *call)


def test_invalid_policy_or_scope_is_rejected(token: OnChain, people: People) -> None:
    owner = people.owner.address
    created(token, people, BLOCK_LIST)
    # Never created, created as a block-list but referenced as an allow-list, and the two whose lists stay empty.
    for policy in (3, 2**56 + 2, ALWAYS_ALLOW, ALWAYS_BLOCK):
        with refused(f"PolicyNotFound({policy})"):
            token.send(owner, "updatePolicyMembers", policy, True, [owner])
    for policy in (3, 1, 2**56, 2**56 + 2):
        with refused(f"PolicyNotFound({policy})"):
            token.send(owner, "updatePolicy", SENDER, policy)
    nowhere = b"\x07" * 32
    with refused(f"UnknownPolicyScope(0x{nowhere.hex()})"):
        token.send(owner, "updatePolicy", nowhere, ALWAYS_BLOCK)
    with refused(f"UnknownPolicyScope(0x{nowhere.hex()})"):
        token.call("policyId", nowhere)


def test_minting_and_burning_have_no_policy(token: OnChain, people: People) -> None:
    for scope in (SENDER, RECEIVER, EXECUTOR):
        enforce(token, people, scope, ALWAYS_BLOCK)
    token.send(people.minter.address, "mint", people.minter.address, 5)
    token.send(people.minter.address, "burn", 5)


PEOPLE = st.sampled_from(["buyer", "merchant", "other", "stranger"])
LISTS = st.tuples(st.sampled_from([BLOCK_LIST, ALLOW_LIST]), st.sets(PEOPLE))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists=st.tuples(LISTS, LISTS, LISTS), executor=PEOPLE, payer=PEOPLE, payee=PEOPLE)
def test_combined_policies_allow_only_accounts_that_each_allows(
    token: OnChain, people: People, lists: tuple, executor: str, payer: str, payee: str
) -> None:
    """Compare with the rule in Python: the error names the first policy that forbids, the executor first."""
    address = {name: account.address for name, account in vars(people).items()}
    asked = [(EXECUTOR, executor), (SENDER, payer), (RECEIVER, payee)]
    with token.chain.rollback():
        expected = None
        for (scope, party), (kind, members) in zip(asked, lists, strict=True):
            policy = created(token, people, kind, *sorted(address[name] for name in members))
            enforce(token, people, scope, policy)
            skipped = scope == EXECUTOR and executor == payer
            if expected is None and not skipped and (party in members) != (kind == ALLOW_LIST):
                expected = forbidden(scope, policy)
        token.send(address[payer], "approve", address[executor], 0)
        if expected is None:
            token.send(address[executor], "transferFrom", address[payer], address[payee], 0)
        else:
            with refused(expected):
                token.send(address[executor], "transferFrom", address[payer], address[payee], 0)
