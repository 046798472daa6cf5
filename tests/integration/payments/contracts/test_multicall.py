"""Multicall3: several calls in one, and the handling of failed calls."""

import pytest

from foreseal.payments.contracts import addresses, load
from payments.contracts.onchain import OnChain, refused
from payments.contracts.people import CHAIN_ID, DOLLAR, TOKEN, People

# Selectors of Multicall3 as deployed on other chains.
SELECTORS = {
    "aggregate((address,bytes)[])": "252dba42",
    "aggregate3((address,bool,bytes)[])": "82ad56cb",
    "aggregate3Value((address,bool,uint256,bytes)[])": "174dea71",
    "blockAndAggregate((address,bytes)[])": "c3077fa9",
    "getBasefee()": "3e64a696",
    "getBlockHash(uint256)": "ee82ac5e",
    "getBlockNumber()": "42cbb15c",
    "getChainId()": "3408e470",
    "getCurrentBlockCoinbase()": "a8b0574e",
    "getCurrentBlockDifficulty()": "72425d9d",
    "getCurrentBlockGasLimit()": "86d516e8",
    "getCurrentBlockTimestamp()": "0f28c97d",
    "getEthBalance(address)": "4d2301cc",
    "getLastBlockHash()": "27e86d6e",
    "tryAggregate(bool,(address,bytes)[])": "bce38bd7",
    "tryBlockAndAggregate(bool,(address,bytes)[])": "399542e9",
}


@pytest.fixture
def multicall(token: OnChain) -> OnChain:
    return OnChain(token.chain, addresses.MULTICALL3, load("Multicall3").abi)


def test_multicall_interface_is_stable(multicall: OnChain) -> None:
    for signature, selector in SELECTORS.items():
        arguments = {"getBlockHash(uint256)": (0,), "getEthBalance(address)": (TOKEN,)}
        given = arguments.get(signature, () if signature.endswith("()") else None)
        if given is None:
            given = (False, []) if "(bool," in signature else ([],)
        assert multicall.data(signature, *given)[:4].hex() == selector


def test_calls_return_their_results(token: OnChain, multicall: OnChain, people: People) -> None:
    reads = [token.data("balanceOf", account.address) for account in (people.buyer, people.merchant)]
    balances = tuple(f"0x{balance:064x}" for balance in (1000 * DOLLAR, 0))
    calls = [(TOKEN, read) for read in reads]
    number = int(token.chain.rpc("eth_blockNumber"), 16)
    succeeded = tuple((True, balance) for balance in balances)
    assert multicall.call("tryAggregate", False, calls) == succeeded
    assert multicall.call("aggregate", calls) == (number, balances)
    assert multicall.call("aggregate3", [(TOKEN, False, read) for read in reads]) == succeeded
    for name, given in (("blockAndAggregate", (calls,)), ("tryBlockAndAggregate", (True, calls))):
        at, block_hash, results = multicall.call(name, *given)
        assert (at, block_hash, results) == (number, "0x" + "00" * 32, succeeded)


def test_failing_call_is_reported(token: OnChain, multicall: OnChain, people: People) -> None:
    good, bad = token.data("paused"), token.data("pause")
    (first, _), (second, reason) = multicall.call("tryAggregate", False, [(TOKEN, good), (TOKEN, bad)])
    assert (first, second) == (True, False)
    assert b"Pausable: caller is not the pauser" in bytes.fromhex(reason[2:])
    assert [done for done, _ in multicall.call("aggregate3", [(TOKEN, True, bad), (TOKEN, False, good)])] == [
        False,
        True,
    ]
    for name, *given in (
        ("tryAggregate", True, [(TOKEN, bad)]),
        ("aggregate", [(TOKEN, bad)]),
        ("aggregate3", [(TOKEN, False, bad)]),
        ("aggregate3Value", [(TOKEN, False, 0, bad)]),
        ("blockAndAggregate", [(TOKEN, bad)]),
    ):
        with refused("Multicall3: call failed"):
            multicall.call(name, *given)


def test_value_of_each_call_adds_up(token: OnChain, multicall: OnChain, people: People) -> None:
    chain, receiver = token.chain, "0x" + "ab" * 20
    data = multicall.data("aggregate3Value", [(receiver, False, 3, b""), (receiver, False, 4, b"")])
    request = {"from": people.buyer.address, "to": multicall.address, "data": data}
    for value, reason in ((6, "Multicall3: call failed"), (8, "Multicall3: value mismatch")):
        answer = chain.request("eth_call", [request | {"value": hex(value)}, "latest"])
        assert answer["error"]["message"] == f"execution reverted: {reason}"
    chain.rpc("eth_sendTransaction", request | {"value": hex(7)})
    assert int(chain.rpc("eth_getBalance", receiver, "latest"), 16) == 7
    assert multicall.call("getEthBalance", receiver) == 7


def test_block_values_are_returned(token: OnChain, multicall: OnChain) -> None:
    block = token.chain.rpc("eth_getBlockByNumber", "latest", False)
    number = int(block["number"], 16)
    assert multicall.call("getBlockNumber") == number
    assert multicall.call("getChainId") == CHAIN_ID
    assert multicall.call("getCurrentBlockTimestamp") == int(block["timestamp"], 16)
    assert multicall.call("getCurrentBlockGasLimit") == int(block["gasLimit"], 16)
    assert multicall.call("getCurrentBlockCoinbase") == block["miner"].lower()
    assert multicall.call("getCurrentBlockDifficulty") == int(block["mixHash"], 16)
    token.chain.mine(2)
    assert multicall.call("getLastBlockHash") == token.chain.rpc("eth_getBlockByNumber", hex(number + 1), False)["hash"]
    assert multicall.call("getBlockHash", number) == block["hash"]
