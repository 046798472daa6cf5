"""Rollup configurations of op-node, as far as a genesis follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

REQUIRED_FORKS = ("regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus")
"""Forks that must be active at genesis."""
OPTIONAL_FORKS = ("jovian", "karst")
"""Forks that are active at genesis or never, each only after the one before it."""
_OTHER_TIMES = frozenset({"block_time", "delta_time", "pectra_blob_schedule_time"})
"""Times that concern the derivation from L1 alone."""
_MAX_UINT32, _MAX_UINT64 = 2**32 - 1, 2**64 - 1


class RollupConfigError(ValueError):
    """A file is not a rollup configuration, or its chain cannot start on this node."""


@dataclass(frozen=True, slots=True)
class RollupConfig:
    """Fields of a rollup configuration that determine the genesis of an execution engine."""

    chain_id: int
    genesis_hash: str
    """Hash of the genesis block, 0x hex in lower case."""
    timestamp: int
    """Time of the genesis block, in Unix seconds."""
    fork_times: Mapping[str, int]
    """Time of each active fork, in Unix seconds, from the oldest on."""
    gas_limit: int
    denominator: int
    denominator_canyon: int
    elasticity: int
    eip1559_params: tuple[int, int]
    """Denominator and elasticity of the system configuration; (0, 0) stands for those of the chain."""
    min_base_fee: int
    """Wei per gas."""


def read_rollup_config(path: Path) -> RollupConfig:
    """Return the configuration in a file. Raise `RollupConfigError` or `OSError`."""
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise RollupConfigError(f"not JSON: {error}") from None
    return parse_rollup_config(document)


def parse_rollup_config(document: Any) -> RollupConfig:
    """Return the configuration. Raise `RollupConfigError`, which names the field."""
    genesis = _object(document, "genesis")
    l2, system = _object(genesis, "l2", "genesis."), _object(genesis, "system_config", "genesis.")
    if (number := _integer(l2, "number", where="genesis.l2.")) != 0:
        raise RollupConfigError(f"genesis.l2.number must be 0, got {number}: the chain began before its rollup")
    timestamp = _integer(genesis, "l2_time", where="genesis.")
    chain = _object(document, "chain_op_config")
    names = ("eip1559Denominator", "eip1559DenominatorCanyon", "eip1559Elasticity")
    denominator, canyon, elasticity = (
        _integer(chain, name, least=1, greatest=_MAX_UINT32, where="chain_op_config.") for name in names
    )
    params = _bytes(system, "eip1559Params", 8, "genesis.system_config.", default="0x" + "00" * 8)
    return RollupConfig(
        chain_id=_integer(document, "l2_chain_id", least=1),
        genesis_hash="0x" + _bytes(l2, "hash", 32, "genesis.l2.").hex(),
        timestamp=timestamp,
        fork_times=_fork_times(document, timestamp),
        gas_limit=_integer(system, "gasLimit", least=5_000, where="genesis.system_config."),
        denominator=denominator,
        denominator_canyon=canyon,
        elasticity=elasticity,
        eip1559_params=_parameters(params),
        min_base_fee=_integer(system, "minBaseFee", where="genesis.system_config.", default=0),
    )


def _fork_times(document: Mapping[str, Any], timestamp: int) -> dict[str, int]:
    """Return the time of each active fork. Raise for a fork that this node cannot execute."""
    known = {f"{fork}_time" for fork in (*REQUIRED_FORKS, *OPTIONAL_FORKS)} | _OTHER_TIMES
    for name, value in document.items():
        if name.endswith("_time") and name not in known and value is not None:
            raise RollupConfigError(f"{name}: this fork is not supported")
    times: dict[str, int] = {}
    forks = (*REQUIRED_FORKS, *OPTIONAL_FORKS)
    for previous, fork in zip((None, *forks), forks, strict=False):
        name = f"{fork}_time"
        if document.get(name) is None:
            if fork in REQUIRED_FORKS:
                raise RollupConfigError(f"{name} is missing: Isthmus and all forks before it must be active at genesis")
            continue
        time = _integer(document, name)
        if time > timestamp:
            raise RollupConfigError(
                f"{name} is {time}, after genesis at {timestamp}: only forks that are active at genesis are supported"
            )
        if previous not in times and previous is not None:
            raise RollupConfigError(f"{name} needs {previous}_time: forks are active in their order")
        times[fork] = time
    return times


def _parameters(params: bytes) -> tuple[int, int]:
    denominator, elasticity = int.from_bytes(params[:4]), int.from_bytes(params[4:])
    if (denominator == 0) != (elasticity == 0):
        raise RollupConfigError(
            "genesis.system_config.eip1559Params: denominator and elasticity must both be zero, or neither"
        )
    return denominator, elasticity


def _object(fields: Any, name: str, where: str = "") -> Mapping[str, Any]:
    value = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(value, dict):
        raise RollupConfigError(f"{where}{name} must be an object: this is not a rollup configuration of op-node")
    return value


def _integer(
    fields: Mapping[str, Any],
    name: str,
    *,
    least: int = 0,
    greatest: int = _MAX_UINT64,
    where: str = "",
    default: int | None = None,
) -> int:
    value = fields.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        raise RollupConfigError(f"{where}{name} must be a number from {least} to {greatest}, got {value!r}")
    return value


def _bytes(fields: Mapping[str, Any], name: str, size: int, where: str, default: str | None = None) -> bytes:
    value = fields.get(name, default)
    try:
        data = bytes.fromhex(value.removeprefix("0x")) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if len(data) != size:
        raise RollupConfigError(f"{where}{name} must be {size} bytes in hex, got {value!r}")
    return data
