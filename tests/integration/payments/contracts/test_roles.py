"""Owner, pauser, blacklister, master minter, minters and rescuer."""

import pytest

from foreseal.payments.contracts import load
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import DOLLAR, People, setup_of

ZERO = "0x" + "00" * 20

# For each role that the owner assigns: function, getter, event, and the revert for other callers.
NAMED = [
    ("updatePauser", "pauser", "PauserChanged", "Pausable: new pauser is the zero address"),
    ("updateBlacklister", "blacklister", "BlacklisterChanged", "Blacklistable: new blacklister is the zero address"),
    ("updateMasterMinter", "masterMinter", "MasterMinterChanged", "FiatToken: new masterMinter is the zero address"),
    ("updateRescuer", "rescuer", "RescuerChanged", "Rescuable: new rescuer is the zero address"),
]


@pytest.mark.parametrize(("function", "getter", "event", "refusal"), NAMED, ids=[named[1] for named in NAMED])
def test_owner_assigns_roles(
    token: OnChain, people: People, function: str, getter: str, event: str, refusal: str
) -> None:
    owner, new = people.owner.address, people.stranger.address
    with refused("Ownable: caller is not the owner"):
        token.send(new, function, new)
    with refused(refusal):
        token.send(owner, function, ZERO)
    assert [(log.event, log.values) for log in token.send(owner, function, new).logs] == [(event, (new,))]
    assert token.call(getter) == new


def test_owner_transfers_ownership(token: OnChain, people: People) -> None:
    owner, new = people.owner.address, people.stranger.address
    with refused("Ownable: caller is not the owner"):
        token.send(new, "transferOwnership", new)
    with refused("Ownable: new owner is the zero address"):
        token.send(owner, "transferOwnership", ZERO)
    receipt = token.send(owner, "transferOwnership", new)
    assert [(log.event, log.values) for log in receipt.logs] == [("OwnershipTransferred", (owner, new))]
    assert token.call("owner") == new
    with refused("Ownable: caller is not the owner"):
        token.send(owner, "updatePauser", owner)
    token.send(new, "updatePauser", new)


def test_pause_blocks_every_transfer_of_money(token: OnChain, people: People) -> None:
    """Authorizations, cancellations and permits have separate tests."""
    with refused("Pausable: caller is not the pauser"):
        token.send(people.owner.address, "pause")
    assert [log.event for log in token.send(people.pauser.address, "pause").logs] == ["Pause"]
    assert token.call("paused") is True
    shop = people.merchant.address
    blocked = [
        (people.buyer, ("transfer", shop, 1)),
        (people.buyer, ("transferWithMemo", shop, 1, b"\0" * 32)),
        (people.buyer, ("transferFrom", shop, shop, 0)),
        (people.buyer, ("transferFromWithMemo", shop, shop, 0, b"\0" * 32)),
        (people.buyer, ("approve", shop, 1)),
        (people.buyer, ("increaseAllowance", shop, 1)),
        (people.buyer, ("decreaseAllowance", shop, 0)),
        # The check for the missing role comes second.
        (people.buyer, ("mint", shop, 1)),
        (people.buyer, ("burn", 1)),
        (people.buyer, ("configureMinter", shop, 1)),
    ]
    for account, call in blocked:
        with refused("Pausable: paused"):
            token.send(account.address, *call)
    # Minters can still be removed and accounts blacklisted, as in FiatToken.
    token.send(people.master_minter.address, "removeMinter", people.minter.address)
    token.send(people.blacklister.address, "blacklist", shop)
    with refused("Pausable: caller is not the pauser"):
        token.send(people.owner.address, "unpause")
    assert [log.event for log in token.send(people.pauser.address, "unpause").logs] == ["Unpause"]
    token.send(people.buyer.address, "transfer", people.other.address, 1)


def test_blacklisting_preserves_the_balance(token: OnChain, people: People) -> None:
    buyer = people.buyer.address
    for name in ("blacklist", "unBlacklist"):
        with refused("Blacklistable: caller is not the blacklister"):
            token.send(people.owner.address, name, buyer)
    for name, event, listed in (("blacklist", "Blacklisted", True), ("unBlacklist", "UnBlacklisted", False)):
        # The second call has no further effect.
        for _ in range(2):
            receipt = token.send(people.blacklister.address, name, buyer)
            assert [(log.event, log.values) for log in receipt.logs] == [(event, (buyer,))]
            assert token.call("isBlacklisted", buyer) is listed
            assert token.call("balanceOf", buyer) == 1000 * DOLLAR


def test_the_master_minter_appoints_minters(token: OnChain, people: People) -> None:
    chief, new = people.master_minter.address, people.stranger.address
    for call in (("configureMinter", new, 1), ("removeMinter", new)):
        with refused("FiatToken: caller is not the masterMinter"):
            token.send(people.owner.address, *call)
    receipt = token.send(chief, "configureMinter", new, 50)
    assert [(log.event, log.values) for log in receipt.logs] == [("MinterConfigured", (new, 50))]
    assert (token.call("isMinter", new), token.call("minterAllowance", new)) == (True, 50)
    receipt = token.send(chief, "removeMinter", new)
    assert [(log.event, log.values) for log in receipt.logs] == [("MinterRemoved", (new,))]
    assert (token.call("isMinter", new), token.call("minterAllowance", new)) == (False, 0)


def test_a_minter_mints_up_to_its_allowance(token: OnChain, people: People) -> None:
    minter, shop = people.minter.address, people.merchant.address
    receipt = token.send(minter, "mint", shop, 5)
    assert [(log.event, log.values) for log in receipt.logs] == [
        ("Mint", (minter, shop, 5)),
        ("Transfer", (ZERO, shop, 5)),
    ]
    assert token.call("totalSupply") == 2000 * DOLLAR + 5
    assert token.call("minterAllowance", minter) == 10**12 - 5
    refusals = [
        ((people.owner.address, shop, 1), "FiatToken: caller is not a minter"),
        ((minter, ZERO, 0), "FiatToken: mint to the zero address"),
        ((minter, shop, 0), "FiatToken: mint amount not greater than 0"),
        ((minter, shop, 10**12 - 4), "FiatToken: mint amount exceeds minterAllowance"),
    ]
    for (sender, to, amount), reason in refusals:
        with refused(reason):
            token.send(sender, "mint", to, amount)
    token.send(people.blacklister.address, "blacklist", people.stranger.address)
    with refused("FiatToken: caller is not a minter"):
        token.send(people.stranger.address, "mint", shop, 1)
    for listed in (minter, shop):
        with token.chain.rollback():
            token.send(people.blacklister.address, "blacklist", listed)
            with refused("Blacklistable: account is blacklisted"):
                token.send(minter, "mint", shop, 1)


def test_balances_have_255_bits_and_supply_256(token: OnChain, people: People) -> None:
    minter, shop = people.minter.address, people.merchant.address
    token.send(people.master_minter.address, "configureMinter", minter, 2**256 - 1)
    with refused("FiatTokenV2_2: Balance exceeds (2^255 - 1)"):
        token.send(minter, "mint", shop, 2**255)
    token.send(minter, "mint", shop, 2**255 - 1)
    assert token.call("isBlacklisted", shop) is False
    with refused("FiatTokenV2_2: Balance exceeds (2^255 - 1)"):
        token.send(people.buyer.address, "transfer", shop, 1)
    with refused("SafeMath: addition overflow"):
        token.send(minter, "mint", people.other.address, 2**255)


def test_minter_burns_its_own_tokens(token: OnChain, people: People) -> None:
    minter = people.minter.address
    token.send(minter, "mint", minter, 5)
    receipt = token.send(minter, "burn", 3)
    assert [(log.event, log.values) for log in receipt.logs] == [
        ("Burn", (minter, 3)),
        ("Transfer", (minter, ZERO, 3)),
    ]
    assert (token.call("balanceOf", minter), token.call("totalSupply")) == (2, 2000 * DOLLAR + 2)
    for sender, amount, reason in [
        (people.buyer.address, 1, "FiatToken: caller is not a minter"),
        (minter, 0, "FiatToken: burn amount not greater than 0"),
        (minter, 3, "FiatToken: burn amount exceeds balance"),
    ]:
        with refused(reason):
            token.send(sender, "burn", amount)
    token.send(people.blacklister.address, "blacklist", minter)
    with refused("Blacklistable: account is blacklisted"):
        token.send(minter, "burn", 1)


def test_rescuer_returns_tokens_sent_by_mistake(token: OnChain, people: People) -> None:
    setup = setup_of(people)
    stray = deploy(token.chain, people.owner.address, setup.creation(), token.abi)
    stray.send(people.master_minter.address, "configureMinter", people.minter.address, 9)
    stray.send(people.minter.address, "mint", token.address, 9)
    with refused("Rescuable: caller is not the rescuer"):
        token.send(people.owner.address, "rescueERC20", stray.address, people.buyer.address, 9)
    with refused("ERC20: transfer amount exceeds balance"):
        token.send(people.rescuer.address, "rescueERC20", stray.address, people.buyer.address, 10)
    token.send(people.rescuer.address, "rescueERC20", stray.address, people.buyer.address, 9)
    assert stray.call("balanceOf", people.buyer.address) == 9


@pytest.mark.parametrize("code", ["0x", "0x60206000f3"], ids=["no contract", "answers no"])
def test_a_failed_rescue_reverts(token: OnChain, people: People, code: str) -> None:
    stray = people.stranger.address
    token.chain.rpc("anvil_setCode", stray, code)
    errors = OnChain(token.chain, token.address, [*token.abi, *load("Checkout").abi])
    with refused(f"SafeERC20FailedOperation({stray})"):
        errors.send(people.rescuer.address, "rescueERC20", stray, people.buyer.address, 1)
