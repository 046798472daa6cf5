"""Genesis of an OP chain, from a rollup configuration and the accounts of its predeploys."""

from collections.abc import Mapping
from typing import Any

from foreseal.cli.genesis_alloc import GenesisAlloc
from foreseal.cli.rollup_config import RollupConfig

FEE_VAULT = "0x4200000000000000000000000000000000000011"
"""Fee recipient of the genesis block: the SequencerFeeVault."""
INITIAL_BASE_FEE = 10**9
"""Base fee of the genesis block, in wei per gas, unless op-deployer's intent changes it."""
_ZERO_HASH = "0x" + "00" * 32

_L1_BLOCKS = tuple(
    "homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier berlin london "
    "arrowGlacier grayGlacier mergeNetsplit".split()
)
_L1_TIMES = {"canyon": "shanghai", "ecotone": "cancun", "isthmus": "prague", "karst": "osaka"}
"""Fork of L1 that each fork of the OP stack includes."""


def optimism_genesis(rollup: RollupConfig, alloc: GenesisAlloc) -> dict[str, Any]:
    """Return the genesis in geth's format."""
    config: dict[str, Any] = {"chainId": rollup.chain_id, "terminalTotalDifficulty": 0}
    config |= {f"{name}Block": 0 for name in (*_L1_BLOCKS, "bedrock")}
    config |= {f"{fork}Time": time for fork, time in rollup.fork_times.items()}
    config |= {f"{l1}Time": rollup.fork_times[fork] for fork, l1 in _L1_TIMES.items() if fork in rollup.fork_times}
    config["optimism"] = {
        "eip1559Elasticity": rollup.elasticity,
        "eip1559Denominator": rollup.denominator,
        "eip1559DenominatorCanyon": rollup.denominator_canyon,
    }
    return {
        "config": config,
        "nonce": "0x0",
        "timestamp": hex(rollup.timestamp),
        "extraData": "0x" + extra_data(rollup).hex(),
        "gasLimit": hex(rollup.gas_limit),
        "difficulty": "0x0",
        "mixHash": _ZERO_HASH,
        "coinbase": FEE_VAULT,
        "baseFeePerGas": hex(INITIAL_BASE_FEE),
        "excessBlobGas": "0x0",
        "blobGasUsed": "0x0",
        "alloc": alloc.accounts,
    }


def extra_data(rollup: RollupConfig) -> bytes:
    """Return the parameters of the base fee in the extra data (OP specification, Holocene and Jovian)."""
    denominator, elasticity = rollup.eip1559_params
    if denominator == 0:
        denominator, elasticity = rollup.denominator_canyon, rollup.elasticity
    params = denominator.to_bytes(4) + elasticity.to_bytes(4)
    if "jovian" in rollup.fork_times:
        return b"\x01" + params + rollup.min_base_fee.to_bytes(8)
    return b"\x00" + params


def different_fields(genesis: Mapping[str, Any], header: Mapping[str, Any]) -> list[str]:
    """Return the differences of a genesis from the header fields of another one, as text."""
    return [
        f"{name} is {genesis[name]} here and {value} in the file"
        for name, value in header.items()
        if _normal(genesis[name]) != _normal(value)
    ]


def _normal(value: Any) -> Any:
    """Return a number of either form as an integer, and text in lower case."""
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            return value.lower()
    return value
