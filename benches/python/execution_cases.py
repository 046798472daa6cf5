"""Comparison of execution with py-evm: a block of a hundred ether or token transfers on a chain in memory.

Our side receives the signed transactions one by one through the JSON-RPC methods, like a test, and builds, seals and
stores the block; py-evm decodes that block and executes it. Both recover senders and compute roots; the result is the
block's hash.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import rlp
from benches.python.case import Case
from eth.chains.base import Chain as PyEvmChain
from eth.db.atomic import AtomicDB
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.cancun.blocks import CancunBlockHeader

from foreseal.bench import token
from foreseal.bench.chain_content import ETHER, TransferOrder, accounts, native, owner
from foreseal.testing import Chain, ChainSettings

NAMES = ("block_of_100_transfers", "block_of_100_token_transfers")
_CHAIN_ID = 31337
_SENDERS, _EACH = 20, 5
_TOKEN = bytes.fromhex("70" * 20)
_TOKEN_GAS = 60_000
# The creation code ends with the runtime code.
_TOKEN_CODE = token.CREATION[-0x4FE:]
# py-evm supports later forks only in part.
_FORKS = (
    *("homesteadBlock", "eip150Block", "eip155Block", "eip158Block", "byzantiumBlock", "constantinopleBlock"),
    *("petersburgBlock", "istanbulBlock", "berlinBlock", "londonBlock", "shanghaiTime", "cancunTime"),
)


def execution_cases(chains: ExitStack) -> list[Case]:
    """Return both comparisons; the stack closes their resources."""

    def tokens(at: int) -> TransferOrder:
        return _TOKEN, 0, _TOKEN_GAS, token.transfer(owner(at), 1 + at)

    def ether(at: int) -> TransferOrder:
        return native(owner(at), 1 + at)

    return [_case(chains, name, order) for name, order in zip(NAMES, (ether, tokens), strict=True)]


def _case(chains: ExitStack, name: str, order: Callable[[int], TransferOrder]) -> Case:
    alloc = _alloc()
    folder = Path(chains.enter_context(tempfile.TemporaryDirectory()))
    genesis = folder / "genesis.json"
    genesis.write_bytes(orjson.dumps(_genesis(alloc)))
    chain = chains.enter_context(Chain(ChainSettings(genesis=genesis, automine=False)))
    orders = [order(at) for at in range(_EACH)]
    raw = [signed.raw for sender in accounts(_SENDERS) for signed in sender.sign(_CHAIN_ID, orders)]
    with chain.rollback():
        _sealed(chain, raw)
        statuses = [receipt["status"] for receipt in chain.rpc("eth_getBlockReceipts", "latest")]
        block = _bytes(chain.rpc("debug_getRawBlock", "latest"))
    if statuses != ["0x1"] * len(raw):
        raise ValueError(f"{name}: not every transfer is in the block and succeeded")
    genesis_header = _bytes(chain.rpc("debug_getRawHeader", "0x0"))
    return Case(name, "py-evm", partial(_ours, chain, raw), _theirs(alloc, genesis_header, block), len(raw))


def _alloc() -> dict[str, dict[str, Any]]:
    senders = [account.address for account in accounts(_SENDERS)]
    storage = {token.balance_slot(sender): "0x" + ETHER.to_bytes(32).hex() for sender in senders}
    token_account = {"balance": "0x0", "code": "0x" + _TOKEN_CODE.hex(), "storage": storage}
    rich = {"0x" + sender.hex(): {"balance": hex(1000 * ETHER)} for sender in senders}
    return rich | {"0x" + _TOKEN.hex(): token_account}


def _genesis(alloc: dict[str, dict[str, Any]]) -> dict[str, Any]:
    blobs = {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}}
    config = {"chainId": _CHAIN_ID, **dict.fromkeys(_FORKS, 0), "terminalTotalDifficulty": 0, "blobSchedule": blobs}
    fields = {"timestamp": "0x0", "gasLimit": hex(30_000_000), "difficulty": "0x0", "baseFeePerGas": hex(10**9)}
    return {"config": config, "alloc": alloc, **fields}


def _sealed(chain: Chain, raw: list[str]) -> None:
    for each in raw:
        chain.rpc("eth_sendRawTransaction", each)
    chain.mine()


def _ours(chain: Chain, raw: list[str]) -> bytes:
    """Return the block's hash; the time includes the rollback of the block for the next call."""
    with chain.rollback():
        _sealed(chain, raw)
        return _bytes(chain.rpc("eth_getBlockByNumber", "latest", False)["hash"])


def _theirs(alloc: dict[str, dict[str, Any]], genesis: bytes, block: bytes) -> Callable[[], bytes]:
    state = {
        _bytes(address): {
            "balance": int(account["balance"], 16),
            "nonce": 0,
            "code": _bytes(account.get("code", "0x")),
            "storage": {int(slot, 16): int(value, 16) for slot, value in account.get("storage", {}).items()},
        }
        for address, account in alloc.items()
    }
    header = rlp.decode(genesis, sedes=CancunBlockHeader)
    database = AtomicDB()
    kind = PyEvmChain.configure("Peer", vm_configuration=((0, CancunVM),), chain_id=_CHAIN_ID)
    # It writes the state; its own header of the genesis block lacks fields.
    kind.from_genesis(
        database, {"difficulty": 0, "gas_limit": header.gas_limit, "state_root": header.state_root}, state
    )
    chain = kind.from_genesis_header(database, header)

    def execute() -> bytes:
        decoded = rlp.decode(block, sedes=CancunVM.block_class)
        machine = chain.get_vm(chain.create_header_from_parent(header))
        return bytes(machine.import_block(decoded).block.hash)

    return execute


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
