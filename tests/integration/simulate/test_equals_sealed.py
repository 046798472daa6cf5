"""Simulated transactions have the outcome and the roots of real ones: on their parent block, with their headers.

The real blocks are the oracle: the builder executed them from signed transactions. Only hashes and the transactions
root differ, since simulated transactions have no signature.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from eth_account.signers.local import LocalAccount
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from web3 import Web3
from web3.contract import Contract

from foreseal.testing import Chain
from foreseal.testing.web3 import connect
from repository import SUPPORT
from simulate_calls import simulate

CONTRACTS = SUPPORT / "contracts"
SENDERS = 3
GAS = 500_000
FEE = 10**11
SAME = (
    *("number", "timestamp", "stateRoot", "receiptsRoot", "logsBloom", "gasUsed", "gasLimit", "baseFeePerGas"),
    *("miner", "mixHash", "excessBlobGas", "blobGasUsed", "requestsHash", "withdrawalsRoot"),
)


class World(NamedTuple):
    """A chain with a token of its first accounts, and a board."""

    chain: Chain
    signers: list[LocalAccount]
    token: Contract
    board: Contract


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with Chain() as chain:
        w3 = connect(chain)

        def deploy(name: str, *arguments: Any) -> Contract:
            artifact = json.loads((CONTRACTS / f"{name}.json").read_text())
            factory = w3.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"])
            receipt = w3.eth.wait_for_transaction_receipt(factory.constructor(*arguments).transact())
            return w3.eth.contract(receipt["contractAddress"], abi=artifact["abi"])

        signers = [account.signer() for account in chain.accounts[:SENDERS]]
        token, board = deploy("Token", 1_000_000), deploy("Board", 7)
        for signer in signers[1:]:
            token.functions.transfer(signer.address, 1000).transact()
        yield World(chain, signers, token, board)


class Action(NamedTuple):
    """A transaction without its nonce."""

    sender: int
    kind: str
    number: int


KINDS = ["pay", "token", "token to nobody", "set", "fail", "panic", "create", "create badly"]
ACTIONS = st.builds(
    Action,
    st.integers(0, SENDERS - 1),
    st.sampled_from(KINDS),
    st.sampled_from([0, 1, 2, 999, 1001, 2**64, 2**255]),
)


def call_object(world: World, action: Action) -> dict[str, Any]:
    """Return the action as a call object without fees."""
    receiver = world.signers[(action.sender + 1) % SENDERS].address
    nobody = Web3.to_checksum_address(f"0x{action.number % 2**150 + 0xD00D:040x}")
    call: dict[str, Any] = {"from": world.signers[action.sender].address, "value": "0x0", "gas": hex(GAS)}
    match action.kind:
        case "pay":
            return call | {"to": nobody, "value": hex(action.number % 10**6)}
        case "token":
            return call | encoded(world.token, "transfer", receiver, action.number)
        case "token to nobody":
            return call | encoded(world.token, "transfer", nobody, action.number)
        case "set":
            return call | encoded(world.board, "set", action.number, "simulated")
        case "fail":
            return call | encoded(world.board, "failWithCustomError", action.number)
        case "panic":
            return call | encoded(world.board, "divide", action.number % 3)
        case "create":
            # Init code that deploys one byte of code and writes storage: PUSH1 7, SLOT number SSTORE, RETURN(31, 1).
            return call | {"input": f"0x60077f{action.number:064x}5560015ff3", "value": hex(action.number % 5)}
        case "create badly":
            return call | {"input": "0xfe"}
    raise AssertionError(action.kind)


def encoded(contract: Contract, name: str, *arguments: Any) -> dict[str, str]:
    return {"to": contract.address, "input": contract.encode_abi(name, list(arguments))}


def send(world: World, call: dict[str, Any], nonce: int) -> None:
    """Sign the call and submit it; with equal tips the order is that of arrival."""
    signer = next(one for one in world.signers if one.address == call["from"])
    signed = signer.sign_transaction(
        {
            "to": call.get("to", ""),
            "value": int(call["value"], 16),
            "gas": GAS,
            "data": call.get("input", "0x"),
            "nonce": nonce,
            "maxFeePerGas": FEE,
            "maxPriorityFeePerGas": 1,
            "chainId": world.chain.settings.chain_id,
        }
    )
    world.chain.rpc("eth_sendRawTransaction", signed.raw_transaction)


def happen(world: World, blocks: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Seal the calls as transactions; return the blocks with their receipts."""
    chain = world.chain
    chain.automine = False
    nonces = {
        one.address: int(chain.rpc("eth_getTransactionCount", one.address, "latest"), 16) for one in world.signers
    }
    sealed = []
    for calls in blocks:
        for call in calls:
            send(world, call, nonces[call["from"]])
            nonces[call["from"]] += 1
            # One per step preserves the order of submission.
            chain.step()
        chain.mine()
        block = chain.rpc("eth_getBlockByNumber", "latest", False)
        assert len(block["transactions"]) == len(calls)
        sealed.append(block | {"receipts": chain.rpc("eth_getBlockReceipts", "latest")})
    return sealed


@settings(max_examples=10, deadline=None, phases=[Phase.explicit, Phase.generate, Phase.shrink])
@example(actions=[[Action(0, kind, 1) for kind in KINDS], [Action(1, kind, 0) for kind in KINDS]])
@given(actions=st.lists(st.lists(ACTIONS, max_size=4), min_size=1, max_size=2))
def test_simulated_blocks_equal_sealed_blocks(world: World, actions: list[list[Action]]) -> None:
    blocks = [[call_object(world, action) for action in block] for block in actions]
    chain = world.chain
    with chain.rollback():
        base = int(chain.rpc("eth_blockNumber"), 16)
        sealed = happen(world, blocks)
        asked = [requested(block, calls) for block, calls in zip(sealed, blocks, strict=True)]
        for index, (request, real) in enumerate(zip(asked, sealed, strict=True)):
            (alone,) = simulate(chain, request, at=hex(base + index), validation=True)
            assert {name: alone[name] for name in SAME} == {name: real[name] for name in SAME}
            assert outcomes(alone["calls"]) == outcomes(real["receipts"])
        together = simulate(chain, *asked, at=hex(base), validation=True)
    # After a simulated block the state contains that block's hash, which differs from the real one's.
    for ours, real in zip(together, sealed, strict=True):
        names = [name for name in SAME if name != "stateRoot"]
        assert {name: ours[name] for name in names} == {name: real[name] for name in names}
        assert outcomes(ours["calls"]) == outcomes(real["receipts"])


def requested(block: dict[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the simulation request for a sealed block."""
    overrides = {"time": block["timestamp"], "prevRandao": block["mixHash"], "feeRecipient": block["miner"]}
    fees = {"maxFeePerGas": hex(FEE), "maxPriorityFeePerGas": "0x1"}
    return {"blockOverrides": overrides, "calls": [call | fees for call in calls]}


def outcomes(ended: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the outcomes of calls or transactions, without fields that depend on block or transaction hash."""
    named = ("address", "topics", "data", "logIndex")
    return [
        (one["status"], one["gasUsed"], [tuple(log[name] for name in named) for log in one["logs"]]) for one in ended
    ]
