"""Data of the chain in the gate: every generator leaves what it promises, and every reader meets it."""

import random
from collections.abc import Iterator

import pytest

from hostile.build import Build
from hostile.chain import Chain, kill_quietly
from hostile.chain_data import BLOCK_GAS, GENERATORS, TRANSACTION_GAS
from hostile.chain_data.precompiles import INPUTS, P256VERIFY
from hostile.patterns import PATTERNS
from hostile.patterns.chain_data import EXECUTED, reads
from hostile.signing import accounts
from live.blocks import wait_for
from live.process import LiveNode

_RECEIPT_TIME = 60.0
_MAX_SUBMISSION = 1 << 20
"""The pool's limit for a submission with blobs."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNode]:
    """Run a node whose genesis has the contracts of all generators."""
    running = Chain(Build.beside(), tmp_path_factory.mktemp("chain-data")).start()
    try:
        yield running
    finally:
        kill_quietly(running)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", GENERATORS)
def test_generator_uses_its_gas_and_leaves_its_logs(node: LiveNode, name: str) -> None:
    generator = GENERATORS[name]
    account = accounts("hostile", len(GENERATORS))[list(GENERATORS).index(name)]
    signed = generator.sign(account, 0, random.Random(1))
    assert node.rpc("eth_sendRawTransaction", signed.raw) == signed.hash
    receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", signed.hash), _RECEIPT_TIME, "receipt")
    assert (receipt["status"] == "0x1") == generator.succeeds
    assert len(receipt["logs"]) >= generator.logs
    assert int(receipt["gasUsed"], 16) >= generator.least_gas * generator.gas


@pytest.mark.parametrize("name", INPUTS)
def test_calls_of_precompiled_contracts_are_valid(node: LiveNode, name: str) -> None:
    called = INPUTS[name]
    transaction = {"to": f"0x{called.address:040x}", "data": "0x" + called.data.hex(), "gas": hex(20_000_000)}
    answer = node.rpc.envelope("eth_call", transaction, "latest")
    assert ("result" in answer) == called.is_valid, answer
    if called.address == P256VERIFY:
        assert int(answer["result"], 16) == 1


def test_generators_stay_within_a_transaction_and_a_block() -> None:
    draw = random.Random(1)
    (account,) = accounts("hostile", 1)
    for generator in GENERATORS.values():
        assert generator.gas <= TRANSACTION_GAS
        assert 1 <= generator.in_block <= BLOCK_GAS // generator.gas
        assert len(generator.sign(account, 0, draw).raw) // 2 <= _MAX_SUBMISSION
    assert {generator.resource for generator in GENERATORS.values()} == {
        "accounts", "blobs", "execution", "inputs", "logs", "opcodes", "precompiles", "storage",
    }  # fmt: skip


def test_block_of_a_generator_has_consecutive_nonces() -> None:
    own, nonces = accounts("hostile", 4), [7, 0, 0, 0]
    made = GENERATORS["logs-n1"].block(own, nonces, random.Random(1))
    assert len({signed.hash for signed in made}) == len(made) == BLOCK_GAS // TRANSACTION_GAS
    assert sum(nonces) == 7 + len(made)


def test_each_generator_has_its_patterns() -> None:
    for generator in GENERATORS.values():
        assert PATTERNS[f"data-{generator.name}"].group == f"chain-{generator.resource}"
        assert (f"block-{generator.name}" in PATTERNS) == (generator.resource not in EXECUTED)


@pytest.mark.timeout(120)
def test_reads_of_a_transaction_are_calls_that_the_node_knows(node: LiveNode) -> None:
    generator = GENERATORS["logs-topics"]
    transfer = accounts("hostile", 400)[-1].sign(0)
    node.rpc("eth_sendRawTransaction", transfer.raw)
    receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", transfer.hash), _RECEIPT_TIME, "receipt")
    cursor = node.rpc("foreseal_getFlashblocks")["cursor"]
    unknown = []
    for body in reads(generator, transfer.hash, receipt["blockNumber"], receipt["blockHash"], cursor):
        answer = node.rpc.post(body).json()
        # Calls of the contract may exceed their limits; wrong parameters and unknown methods are faults.
        if answer.get("error", {}).get("code") in (-32600, -32601, -32602):
            unknown.append((body[:120], answer["error"]))
    assert unknown == []
