"""The execution specification in Python (EELS, PyPI `ethereum-execution`), which executes blocks sealed by the node.

    peer = Specification(genesis)
    result = peer.execute(block, parent, raw)   # result of its tool t8n: roots, bloom, gas, receipts, requests

It maintains its own state: only the genesis, the environment and the transactions come from the node.
"""

import io
import json
import tempfile
from argparse import ArgumentParser, Namespace
from typing import Any

import rlp
from ethereum_spec_tools.evm_tools.t8n import T8N, ForkCache, t8n_arguments

FORK = "BPO2"
"""The newest rules that both support: Osaka with its second blob schedule, as in the development genesis."""

_ENVIRONMENT = {
    "currentCoinbase": "miner",
    "currentGasLimit": "gasLimit",
    "currentNumber": "number",
    "currentTimestamp": "timestamp",
    "currentRandom": "mixHash",
    "parentBeaconBlockRoot": "parentBeaconBlockRoot",
}
# It computes the base fee and the excess blob gas from these fields.
_PARENT = {
    "parentTimestamp": "timestamp",
    "parentGasUsed": "gasUsed",
    "parentGasLimit": "gasLimit",
    "parentBaseFee": "baseFeePerGas",
    "parentExcessBlobGas": "excessBlobGas",
    "parentBlobGasUsed": "blobGasUsed",
}


def _options(chain_id: int) -> Namespace:
    parser = ArgumentParser()
    t8n_arguments(parser.add_subparsers())
    streams = [f"--input.{name}=stdin" for name in ("alloc", "env", "txs")]
    streams += [f"--output.{name}=stdout" for name in ("alloc", "result")]
    return parser.parse_args(["t8n", *streams, f"--state.fork={FORK}", f"--state.chainid={chain_id}"])


class Specification:
    """A chain executed by the specification, block by block from the genesis."""

    def __init__(self, genesis: dict[str, Any]) -> None:
        """`genesis` is in geth's format."""
        self.alloc: dict[str, Any] = genesis["alloc"]
        """The current state: balance, nonce, code and storage by address."""
        self._options = _options(genesis["config"]["chainId"])
        self._hashes: dict[str, str] = {}

    def execute(self, block: dict[str, Any], parent: dict[str, Any], raw: str) -> dict[str, Any]:
        """Return the result of its tool t8n for a block on top of `parent`.

        `raw` is the block's RLP, of which only the transactions count.
        """
        self._hashes[parent["number"]] = parent["hash"]
        environment = {name: block[field] for name, field in _ENVIRONMENT.items()}
        environment |= {name: parent[field] for name, field in _PARENT.items()}
        environment |= {"withdrawals": [], "ommers": [], "blockHashes": self._hashes}
        transactions = rlp.encode(rlp.decode(bytes.fromhex(raw[2:]))[1])
        given = {"alloc": self.alloc, "env": environment, "txs": "0x" + transactions.hex()}
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, ForkCache() as cache:
            self._options.output_basedir = folder
            tool = T8N(self._options, out, io.StringIO(json.dumps(given)), cache)
            assert tool.run() == 0, "t8n failed"
        answer = json.loads(out.getvalue())
        self.alloc = answer["alloc"]
        result: dict[str, Any] = answer["result"]
        return result
