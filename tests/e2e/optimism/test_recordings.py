"""Recordings of a stock driver, replayed against a node, and the chain that the node has afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from eth_hash.auto import keccak

from json_differences import json_differences
from optimism import OptimismNode, optimism_node
from optimism.recordings import RECORDED_CHAINS, genesis_file, recorded_chain, replay

MAX_SHOWN = 12
TAGS = ("latest", "safe", "finalized")


class Replayed(NamedTuple):
    """A node after a verifier's recording, and the chain that it must have."""

    node: OptimismNode
    expected: dict[str, Any]


@pytest.fixture(scope="module", params=RECORDED_CHAINS)
def replayed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replayed]:
    """Replay each verifier's recording against a fresh node."""
    name: str = request.param
    with optimism_node(tmp_path_factory.mktemp(name), genesis_file(name)) as node:
        assert_all_passed(replay(node, "verifier", name))
        yield Replayed(node, recorded_chain(name))


def assert_all_passed(output: str) -> None:
    """Assert that the last line is `N passed, 0 failed`, or of that form."""
    passed, failed = (int(part.split()[0]) for part in output.splitlines()[-1].split(", "))
    assert failed == 0, output
    assert passed > 100, output


def assert_equal(expected: Any, answered: Any, path: str) -> None:
    """Assert that two JSON values are equal, null fields included."""
    differences = [str(each) for each in json_differences(expected, answered, path)]
    assert not differences, "\n".join([f"{len(differences)} differences", *differences[:MAX_SHOWN]])


@pytest.mark.parametrize("name", RECORDED_CHAINS)
def test_answers_to_a_sequencer_are_those_recorded(tmp_path: Path, name: str) -> None:
    with optimism_node(tmp_path, genesis_file(name)) as node:
        assert_all_passed(replay(node, "sequencer", name, "--pin-transactions"))


# The recordings of invalid requests are named `refused`; there is none of the chain karst-reorg.
@pytest.mark.parametrize("name", ["jovian", "karst"])
def test_answers_to_invalid_requests_are_those_recorded(tmp_path: Path, name: str) -> None:
    with optimism_node(tmp_path, genesis_file(name)) as node:
        assert_all_passed(replay(node, "refused", name))


def test_blocks_and_receipts_are_those_recorded(replayed: Replayed) -> None:
    rpc, blocks = replayed.node.rpc, replayed.expected["blocks"]
    assert len(blocks) == replayed.expected["lastBlock"] + 1 > 70
    for each in blocks:
        number, digest = each["block"]["number"], each["block"]["hash"]
        by_number, by_hash, receipts, header, raw_receipts = rpc.batch(
            ("eth_getBlockByNumber", number, True),
            ("eth_getBlockByHash", digest, True),
            ("eth_getBlockReceipts", number),
            ("debug_getRawHeader", number),
            ("debug_getRawReceipts", number),
        )
        where = f"block {int(number, 16)}"
        assert_equal(each["block"], by_number, where)
        assert_equal(each["block"], by_hash, where)
        assert_equal(each["receipts"], receipts, f"{where} receipts")
        assert_equal(each["rawHeader"], header, f"{where} raw header")
        assert_equal(each["rawReceipts"], raw_receipts, f"{where} raw receipts")


def test_single_transactions_and_receipts_are_those_of_their_blocks(replayed: Replayed) -> None:
    rpc = replayed.node.rpc
    for each in replayed.expected["blocks"]:
        for transaction, receipt in zip(each["block"]["transactions"], each["receipts"], strict=True):
            digest = transaction["hash"]
            assert_equal(transaction, rpc("eth_getTransactionByHash", digest), f"transaction {digest}")
            assert_equal(receipt, rpc("eth_getTransactionReceipt", digest), f"receipt {digest}")


def test_balances_of_the_vaults_are_those_recorded(replayed: Replayed) -> None:
    rpc = replayed.node.rpc
    for each in replayed.expected["blocks"]:
        number = each["block"]["number"]
        balances = {address: rpc("eth_getBalance", address, number) for address in each["balances"]}
        assert len(balances) == 5
        assert_equal(each["balances"], balances, f"block {int(number, 16)} balances")


def test_deposits_are_those_recorded(replayed: Replayed) -> None:
    rpc, deposits = replayed.node.rpc, replayed.expected["deposits"]
    assert deposits
    for each in deposits:
        digest = each["hash"]
        assert_equal(each["result"], rpc("eth_getTransactionByHash", digest), f"deposit {digest}")
        assert_equal(each["raw"], rpc("eth_getRawTransactionByHash", digest), f"raw deposit {digest}")
        assert_equal(each["raw"], rpc("debug_getRawTransaction", digest), f"raw deposit {digest}")


def test_tags_are_those_of_the_verifier(replayed: Replayed) -> None:
    for listener in (replayed.node.rpc, replayed.node.engine):
        blocks = {tag: listener("eth_getBlockByNumber", tag, False) for tag in TAGS}
        tags = {tag: {"number": block["number"], "hash": block["hash"]} for tag, block in blocks.items()}
        assert_equal(replayed.expected["verifierTags"], tags, "tags")


def test_output_roots_are_those_of_the_driver(replayed: Replayed) -> None:
    outputs = replayed.expected["outputs"]
    assert outputs
    for number, output in outputs.items():
        block = replayed.node.rpc("eth_getBlockByNumber", hex(int(number)), False)
        # Version 0 of an output (OP specification, "L2 output root commitment construction").
        fields = "".join(block[name].removeprefix("0x") for name in ("stateRoot", "withdrawalsRoot", "hash"))
        assert "0x" + keccak(bytes(32) + bytes.fromhex(fields)).hex() == output, f"block {number}"


def test_proofs_are_those_recorded(replayed: Replayed) -> None:
    proofs = replayed.expected["proofs"]
    assert proofs
    for each in proofs:
        address, _, block = each["params"]
        proof = replayed.node.rpc("eth_getProof", *each["params"])
        assert_equal(each["result"], proof, f"proof of {address} at {block}")
