"""Contracts in a genesis file: the same code as by a transaction, at the addresses that clients use."""

from pathlib import Path

import orjson
import pytest
from eth_utils import to_checksum_address

from foreseal._core import newest_genesis
from foreseal.payments.contracts import (
    TokenGenesis,
    addresses,
    batch_capture_entry,
    checkout_entry,
    load,
    payouts_entry,
    token_alloc,
    x402_alloc,
)
from foreseal.testing import Chain, ChainSettings
from payments.contracts.channels import DOMAIN as CHANNELS
from payments.contracts.onchain import OnChain, deploy
from payments.contracts.people import CHAIN_ID, DOLLAR, TOKEN, People, setup_of
from payments.contracts.signing import separator, typed_digest

# Addresses from payments.md, section 4.
FIXED = {
    "PERMIT2": "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    "EXACT_PERMIT2_PROXY": "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
    "UPTO_PERMIT2_PROXY": "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
    "MULTICALL3": "0xcA11bde05977b3631167028862bE2a173976CA11",
    "BATCH_SETTLEMENT": "0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003",
    "ERC3009_DEPOSIT_COLLECTOR": "0x4020806089470a89826cB9fB1f4059150b550004",
    "PERMIT2_DEPOSIT_COLLECTOR": "0x4020425FAf3B746C082C2f942b4E5159887B0005",
}
# Constructor arguments of the corresponding creation transactions.
ARGUMENTS = {
    addresses.PERMIT2: ("Permit2", ()),
    addresses.EXACT_PERMIT2_PROXY: ("ExactPermit2Proxy", (addresses.PERMIT2,)),
    addresses.UPTO_PERMIT2_PROXY: ("UptoPermit2Proxy", (addresses.PERMIT2,)),
    addresses.MULTICALL3: ("Multicall3", ()),
    addresses.BATCH_SETTLEMENT: ("BatchSettlement", ()),
    addresses.ERC3009_DEPOSIT_COLLECTOR: ("Erc3009DepositCollector", (addresses.BATCH_SETTLEMENT,)),
    addresses.PERMIT2_DEPOSIT_COLLECTOR: (
        "Permit2DepositCollector",
        (addresses.BATCH_SETTLEMENT, addresses.PERMIT2),
    ),
}


def code_at(chain: Chain, address: str) -> str:
    return chain.rpc("eth_getCode", address, "latest")


def test_contract_addresses_equal_those_of_clients() -> None:
    assert {name: getattr(addresses, name) for name in FIXED} == FIXED
    assert addresses.TOKENS == {84532: TOKEN}
    for address in (*FIXED.values(), TOKEN):
        assert to_checksum_address(address) == address
    assert set(x402_alloc()) == {address.lower() for address in FIXED.values()}


@pytest.mark.parametrize("address", ARGUMENTS, ids=[contract for contract, _ in ARGUMENTS.values()])
def test_genesis_code_equals_deployed_code(chain: Chain, people: People, address: str) -> None:
    contract, arguments = ARGUMENTS[address]
    made = deploy(chain, people.stranger.address, load(contract).creation(*arguments), load(contract).abi)
    assert len(code_at(chain, address)) > 2000
    assert code_at(chain, address) == code_at(chain, made.address)


@pytest.mark.parametrize("contract", ["Checkout", "Payouts", "BatchCapture"])
def test_merchant_genesis_code_equals_deployed_code(chain: Chain, people: People, contract: str) -> None:
    shop = people.merchant.address
    entry, arguments = {
        "Checkout": (checkout_entry(TOKEN, shop), (TOKEN, shop)),
        "Payouts": (payouts_entry(TOKEN), (TOKEN,)),
        "BatchCapture": (batch_capture_entry(TOKEN, shop), (TOKEN, shop)),
    }[contract]
    made = deploy(chain, people.stranger.address, load(contract).creation(*arguments), load(contract).abi)
    assert entry["code"] == code_at(chain, made.address)


def test_the_token_begins_with_balances_minters_and_roles(token: OnChain, people: People) -> None:
    assert token.call("balanceOf", people.buyer.address) == 1000 * DOLLAR
    assert token.call("totalSupply") == 2000 * DOLLAR
    assert token.call("minterAllowance", people.minter.address) == 10**12
    roles = ("owner", "masterMinter", "pauser", "blacklister", "rescuer")
    assert [token.call(role) for role in roles] == [
        people.owner.address,
        people.master_minter.address,
        people.pauser.address,
        people.blacklister.address,
        people.rescuer.address,
    ]


def test_signing_domains_use_the_running_chain_id(token_genesis: TokenGenesis, tmp_path: Path) -> None:
    """The domain does not use the chain ID of the contracts' creation: after a fork the ID differs."""
    chain_id = CHAIN_ID + 1
    genesis = orjson.loads(newest_genesis(chain_id))
    genesis["alloc"] |= token_alloc(token_genesis, CHAIN_ID) | x402_alloc()
    path = tmp_path / "genesis.json"
    path.write_bytes(orjson.dumps(genesis))
    dollar = {"name": "USDC", "version": "2", "chainId": chain_id, "verifyingContract": TOKEN}
    permit2 = {"name": "Permit2", "chainId": chain_id, "verifyingContract": addresses.PERMIT2}
    voucher, fields = (bytes(32), 7), "bytes32 channelId,uint128 maxClaimableAmount"
    message = {"channelId": voucher[0], "maxClaimableAmount": voucher[1]}
    digest = typed_digest(CHANNELS | {"chainId": chain_id}, {"Voucher": fields}, "Voucher", message)
    with Chain(ChainSettings(genesis=path, chain_id=chain_id)) as chain:
        for contract, address, call, expected in [
            ("PaymentToken", TOKEN, ("DOMAIN_SEPARATOR",), separator(dollar)),
            ("Permit2", addresses.PERMIT2, ("DOMAIN_SEPARATOR",), separator(permit2)),
            ("BatchSettlement", addresses.BATCH_SETTLEMENT, ("getVoucherDigest", *voucher), digest),
        ]:
            assert OnChain(chain, address, load(contract).abi).call(*call) == "0x" + expected.hex(), contract


def test_invalid_token_setup_is_rejected(people: People) -> None:
    setup, buyer = setup_of(people), people.buyer.address
    with pytest.raises(ValueError, match="chain 31337 has no token"):
        token_alloc(TokenGenesis(setup), 31337)
    assert list(token_alloc(TokenGenesis(setup), 31337, TOKEN)) == [TOKEN.lower()]
    for balances, message in [
        ({buyer: 1, to_checksum_address(buyer): 1}, "an account occurs twice"),
        ({buyer: 2**255}, "255 bits"),
        ({buyer: -1}, "255 bits"),
        ({TOKEN: 1}, "must not own tokens"),
        ({"0x12": 1}, "an address must have 20 bytes"),
    ]:
        with pytest.raises(ValueError, match=message):
            token_alloc(TokenGenesis(setup, balances=balances), CHAIN_ID)


def test_missing_immutables_are_rejected() -> None:
    with pytest.raises(ValueError, match="has the immutables"):
        load("Checkout").code(token=bytes(32))
    with pytest.raises(ValueError, match="must have 32 bytes"):
        load("Payouts").code(token=bytes(20))
    with pytest.raises(ValueError, match="no constructor"):
        load("Permit2").creation(1)
