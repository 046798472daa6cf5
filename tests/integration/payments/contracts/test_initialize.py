"""Initialization of a token: by its setup in one transaction, or step by step like FiatToken behind a proxy."""

from dataclasses import replace

from foreseal.payments.contracts import load
from foreseal.payments.contracts.token import domain_separator
from foreseal.testing import Chain
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import CHAIN_ID, People, setup_of
from payments.contracts.slots import at

ZERO = "0x" + "00" * 20


def uninitialized(chain: Chain, people: People) -> OnChain:
    """Return a token without a setup."""
    setup = replace(setup_of(people), owner=ZERO)
    return deploy(chain, people.stranger.address, setup.creation(), load("PaymentToken").abi)


def first_step(people: People) -> tuple:
    """Return the arguments of `initialize`."""
    setup = setup_of(people)
    roles = (setup.master_minter, setup.pauser, setup.blacklister, setup.owner)
    return (setup.name, setup.symbol, setup.currency, setup.decimals, *roles)


def test_token_with_its_setup_is_initialized(chain: Chain, people: People) -> None:
    made = deploy(chain, people.stranger.address, setup_of(people).creation(), load("PaymentToken").abi)
    assert made.call("owner") == people.owner.address
    assert made.call("isBlacklisted", made.address) is True
    assert made.call("DOMAIN_SEPARATOR") == "0x" + domain_separator("USDC", "2", CHAIN_ID, made.address).hex()
    with refused("FiatToken: contract is already initialized"):
        made.send(people.stranger.address, "initialize", *first_step(people)[:4], *[ZERO] * 4)
    for step in (("initializeV2", "Mine"), ("initializeV2_1", people.stranger.address), ("initializeV2_2", [], "ME")):
        with refused("0x"):
            made.send(people.stranger.address, *step)


def test_name_and_version_are_settings(chain: Chain, people: People) -> None:
    setup = replace(setup_of(people), name="A dollar whose name does not fit into one slot", version="3.1")
    made = deploy(chain, people.stranger.address, setup.creation(), load("PaymentToken").abi)
    assert (made.call("name"), made.call("version")) == (setup.name, "3.1")
    assert made.call("DOMAIN_SEPARATOR") == "0x" + domain_separator(setup.name, "3.1", CHAIN_ID, made.address).hex()


def test_version_over_31_bytes_is_rejected(chain: Chain, people: People) -> None:
    with refused(f"StringTooLong({'9' * 32})"):
        deploy(
            chain,
            people.owner.address,
            replace(setup_of(people), version="9" * 32).creation(),
            load("PaymentToken").abi,
        )


def test_initialization_steps_equal_the_setup(chain: Chain, people: People) -> None:
    stepped = uninitialized(chain, people)
    assert stepped.call("owner") == people.stranger.address
    sender = people.stranger.address
    with refused("0x"):
        stepped.send(sender, "initializeV2", "USDC")
    stepped.send(sender, "initialize", *first_step(people))
    getters = ("name", "symbol", "currency", "decimals", "masterMinter", "pauser", "blacklister", "owner")
    assert tuple(stepped.call(name) for name in getters) == first_step(people)
    for step in (("initializeV2_1", sender), ("initializeV2_2", [], "USDC")):
        with refused("0x"):
            stepped.send(sender, *step)
    stepped.send(sender, "initializeV2", "USDC")
    assert stepped.send(sender, "initializeV2_1", sender).logs == []
    stepped.send(sender, "initializeV2_2", [], "USDC")
    ready = deploy(chain, people.stranger.address, setup_of(people).creation(), load("PaymentToken").abi)
    for slot in [*range(15), *range(16, 23)]:
        assert stepped.storage(slot) == ready.storage(slot), slot
    assert stepped.call("isBlacklisted", stepped.address) is True


def test_first_initialization_step_names_each_missing_role(chain: Chain, people: People) -> None:
    stepped, given = uninitialized(chain, people), first_step(people)
    for place, role in ((4, "masterMinter"), (5, "pauser"), (6, "blacklister"), (7, "owner")):
        # The error names the first missing role.
        without = given[:place] + (ZERO,) * (len(given) - place)
        with refused(f"FiatToken: new {role} is the zero address"):
            stepped.send(people.stranger.address, "initialize", *without)
    # A setup has the same check.
    with refused("FiatToken: new pauser is the zero address"):
        deploy(chain, people.owner.address, replace(setup_of(people), pauser=ZERO).creation(), stepped.abi)


def test_a_former_blacklist_moves_to_the_balances(chain: Chain, people: People) -> None:
    """On a chain with a token from before V2_2 the list is in slot 3, and the token holds some of its own tokens."""
    stepped, sender = uninitialized(chain, people), people.stranger.address
    old, lost = people.buyer.address, people.other.address
    stepped.send(sender, "initialize", *first_step(people))
    stepped.send(sender, "initializeV2", "Dollar")
    stepped.send(people.master_minter.address, "configureMinter", people.minter.address, 9)
    stepped.send(people.minter.address, "mint", stepped.address, 9)
    receipt = stepped.send(sender, "initializeV2_1", lost)
    assert [(log.event, log.values) for log in receipt.logs] == [("Transfer", (stepped.address, lost, 9))]
    with refused("FiatTokenV2_2: Blacklisting previously unblacklisted account!"):
        stepped.send(sender, "initializeV2_2", [old], "USDC")
    slots = [at(3, account) for account in (old, stepped.address)]
    for slot in slots:
        chain.rpc("anvil_setStorageAt", stepped.address, hex(slot), f"0x{1:064x}")
    stepped.send(sender, "initializeV2_2", [old], "DLR")
    assert (stepped.call("name"), stepped.call("symbol")) == ("Dollar", "DLR")
    assert stepped.call("isBlacklisted", old) is True
    assert [stepped.storage(slot) for slot in slots] == [0, 0]


def test_tokens_are_not_rescued_to_a_blacklisted_account(chain: Chain, people: People) -> None:
    """Only this path reaches a transfer's second check of the blacklist."""
    stepped, sender, lost = uninitialized(chain, people), people.stranger.address, people.other.address
    stepped.send(sender, "initialize", *first_step(people))
    stepped.send(sender, "initializeV2", "USDC")
    stepped.send(people.master_minter.address, "configureMinter", people.minter.address, 2**256 - 1)
    stepped.send(people.minter.address, "mint", stepped.address, 9)
    with chain.rollback():
        stepped.send(people.minter.address, "mint", lost, 2**255 - 1)
        stepped.send(people.blacklister.address, "blacklist", lost)
        with refused("FiatTokenV2_2: Balance exceeds (2^255 - 1)"):
            stepped.send(sender, "initializeV2_1", lost)
    stepped.send(people.blacklister.address, "blacklist", lost)
    with refused("FiatTokenV2_2: Account is blacklisted"):
        stepped.send(sender, "initializeV2_1", lost)
