"""The token's storage layout, read by eth_getStorageAt; slots are hashed by eth-utils."""

import pytest

from foreseal.payments.contracts import load
from foreseal.payments.contracts.storage import Storage
from payments.contracts.onchain import OnChain, deploy
from payments.contracts.people import DOLLAR, People, setup_of
from payments.contracts.signing import Domain
from payments.contracts.slots import at

NONCE = b"\x33" * 32


def short(text: str) -> int:
    """Return the storage word of a string of up to 31 bytes."""
    return int.from_bytes(text.encode().ljust(31, b"\0") + bytes([2 * len(text)]), "big")


@pytest.fixture(params=["genesis", "transaction"])
def placed(request: pytest.FixtureRequest, token: OnChain, people: People) -> OnChain:
    """Return the token from the genesis, or an indistinguishable one made by a transaction and its minters."""
    if request.param == "genesis":
        return token
    made = deploy(token.chain, people.stranger.address, setup_of(people).creation(), token.abi)
    made.send(people.owner.address, "updateRescuer", people.rescuer.address)
    made.send(people.master_minter.address, "configureMinter", people.minter.address, 10**12 + 2000 * DOLLAR)
    for account in (people.buyer, people.other):
        made.send(people.minter.address, "mint", account.address, 1000 * DOLLAR)
    return made


def test_plain_variables_have_their_slots(placed: OnChain, people: People, domain: Domain) -> None:
    def address(account: object) -> int:
        return int(str(account), 16)

    assert {slot: placed.storage(slot) for slot in range(23)} == {
        0: address(people.owner),
        1: address(people.pauser),
        2: address(people.blacklister),
        3: 0,
        4: short("USDC"),
        5: short("USDC"),
        6: 6,
        7: short("USD"),
        8: 1 << 160 | address(people.master_minter),
        9: 0,
        10: 0,
        11: 2000 * DOLLAR,
        12: 0,
        13: 0,
        14: address(people.rescuer),
        15: int(placed.call("DOMAIN_SEPARATOR"), 16),
        16: 0,
        17: 0,
        18: 3,
        19: 0,
        20: 0,
        21: 0,
        22: 0,
    }


def test_mappings_have_their_slots(placed: OnChain, people: People) -> None:
    buyer = people.buyer.address
    assert placed.storage(at(9, buyer)) == 1000 * DOLLAR
    assert placed.storage(at(9, placed.address)) == 1 << 255
    assert placed.storage(at(12, people.minter.address)) == 1
    assert placed.storage(at(13, people.minter.address)) == 10**12


def test_token_writes_the_storage_slots_of_fiat_token(token: OnChain, people: People, domain: Domain) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    token.send(buyer, "approve", shop, 77)
    assert token.storage(at(10, buyer, shop)) == 77
    signature = domain.sign(people.buyer.key, "CancelAuthorization", authorizer=buyer, nonce=NONCE)
    token.send(shop, "cancelAuthorization", buyer, NONCE, *signature)
    assert token.storage(at(16, buyer, NONCE)) == 1
    terms = {"owner": buyer, "spender": shop, "value": 5, "nonce": 0, "deadline": 2**256 - 1}
    token.send(shop, "permit", buyer, shop, 5, 2**256 - 1, *domain.sign(people.buyer.key, "Permit", **terms))
    assert token.storage(at(17, buyer)) == 1
    token.send(people.blacklister.address, "blacklist", buyer)
    assert token.storage(at(9, buyer)) == 1 << 255 | 1000 * DOLLAR
    assert token.storage(at(3, buyer)) == 0
    token.send(people.pauser.address, "pause")
    assert token.storage(1) == 1 << 160 | int(people.pauser.address, 16)


def test_policies_follow_the_slots_of_fiat_token(token: OnChain, people: People) -> None:
    owner, policies = people.owner.address, []
    for kind in (0, 1, 0):
        logs = token.send(owner, "createPolicy", kind, [people.buyer.address]).logs
        policies.append(logs[0].values[0])
    names = ("TRANSFER_SENDER_POLICY", "TRANSFER_RECEIVER_POLICY", "TRANSFER_EXECUTOR_POLICY")
    for name, policy in zip(names, policies, strict=True):
        token.send(owner, "updatePolicy", bytes.fromhex(token.call(name)[2:]), policy)
    sender, receiver, executor = policies
    assert token.storage(19) == executor << 128 | receiver << 64 | sender
    assert token.storage(20) == 4
    for policy in policies:
        assert token.storage(at(21, policy)) == 1
        assert token.storage(at(22, policy, people.buyer.address)) == 1
        assert token.storage(at(22, policy, people.other.address)) == 0


def test_genesis_and_deployment_have_the_same_code(token: OnChain, people: People) -> None:
    made = deploy(token.chain, people.stranger.address, setup_of(people).creation(), token.abi)
    codes = {token.chain.rpc("eth_getCode", contract.address, "latest") for contract in (token, made)}
    assert len(codes) == 1
    assert len(codes.pop()) > 20_000


@pytest.mark.parametrize("name", ["", "x" * 31, "y" * 32, "z" * 33, "long " * 20])
def test_strings_of_any_length_have_their_slots(token: OnChain, name: str) -> None:
    storage = Storage(load("PaymentToken"))
    storage.set_string("name", name)
    for slot, value in storage.slots.items():
        token.chain.rpc("anvil_setStorageAt", token.address, hex(slot), "0x" + value.to_bytes(32, "big").hex())
    assert token.call("name", block="pending") == name


def test_storage_value_that_does_not_fit_is_rejected() -> None:
    storage = Storage(load("PaymentToken"))
    with pytest.raises(ValueError, match="too few"):
        storage.set("decimals", 256)
    with pytest.raises(KeyError, match="stores no"):
        storage.set("nothing", 1)
    storage.set("masterMinter", 2**160 - 1)
    storage.set("_initialized", 1)
    storage.set("masterMinter", 5)
    assert storage.slots == {8: 1 << 160 | 5}
