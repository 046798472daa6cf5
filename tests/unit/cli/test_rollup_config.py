"""Rollup configurations: every field that a genesis needs is checked, and every fork."""

import copy
from typing import Any

import pytest

from foreseal.cli.rollup_config import REQUIRED_FORKS, RollupConfigError, parse_rollup_config

HASH = "0x" + "5A" * 32
JOVIAN: dict[str, Any] = {
    "genesis": {
        "l1": {"hash": "0x" + "11" * 32, "number": 3},
        "l2": {"hash": HASH, "number": 0},
        "l2_time": 1_700_000_000,
        "system_config": {"gasLimit": 60_000_000, "eip1559Params": "0x0000000000000000", "minBaseFee": 5},
    },
    "block_time": 2,
    "l2_chain_id": 901,
    **{f"{fork}_time": 0 for fork in (*REQUIRED_FORKS, "delta", "jovian")},
    "karst_time": None,
    "chain_op_config": {"eip1559Elasticity": 6, "eip1559Denominator": 50, "eip1559DenominatorCanyon": 250},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the configuration with another value at a path; `...` removes it."""
    config = copy.deepcopy(JOVIAN)
    *folders, name = path.split(".")
    at = config
    for folder in folders:
        at = at[folder]
    if value is ...:
        at.pop(name)
    else:
        at[name] = value
    return config


def test_fields_are_those_of_the_file() -> None:
    rollup = parse_rollup_config(JOVIAN)
    assert (rollup.chain_id, rollup.timestamp, rollup.gas_limit) == (901, 1_700_000_000, 60_000_000)
    assert rollup.genesis_hash == HASH.lower()
    assert (rollup.denominator, rollup.denominator_canyon, rollup.elasticity) == (50, 250, 6)
    assert (rollup.eip1559_params, rollup.min_base_fee) == ((0, 0), 5)
    assert list(rollup.fork_times) == [*REQUIRED_FORKS, "jovian"]


def test_absent_system_parameters_are_zero() -> None:
    config = changed("genesis.system_config", {"gasLimit": 30_000_000})
    assert parse_rollup_config(config).eip1559_params == (0, 0)
    assert parse_rollup_config(config).min_base_fee == 0


def test_parameters_are_denominator_and_elasticity() -> None:
    config = changed("genesis.system_config.eip1559Params", "0x0000006400000004")
    assert parse_rollup_config(config).eip1559_params == (100, 4)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("genesis", ..., "genesis must be an object"),
        ("genesis", 5, "genesis must be an object"),
        ("genesis.l2", ..., "genesis.l2 must be an object"),
        ("genesis.l2.hash", "0x12", "genesis.l2.hash must be 32 bytes"),
        ("genesis.l2.hash", "zz" * 32, "genesis.l2.hash must be 32 bytes"),
        ("genesis.l2.number", 4061224, "the chain began before its rollup"),
        ("genesis.l2_time", ..., "genesis.l2_time must be a number"),
        ("genesis.l2_time", "0x1", "genesis.l2_time must be a number"),
        ("genesis.l2_time", True, "genesis.l2_time must be a number"),
        ("genesis.l2_time", -1, "genesis.l2_time must be a number"),
        ("genesis.system_config", None, "genesis.system_config must be an object"),
        ("genesis.system_config.gasLimit", 0, "genesis.system_config.gasLimit must be a number from 5000"),
        ("genesis.system_config.eip1559Params", "0x00", "eip1559Params must be 8 bytes"),
        ("genesis.system_config.eip1559Params", "0x0000000000000001", "must both be zero, or neither"),
        ("genesis.system_config.minBaseFee", 2**64, "minBaseFee must be a number"),
        ("l2_chain_id", 0, "l2_chain_id must be a number from 1"),
        ("l2_chain_id", 1.5, "l2_chain_id must be a number from 1"),
        ("chain_op_config", ..., "chain_op_config must be an object"),
        ("chain_op_config.eip1559Elasticity", 0, "chain_op_config.eip1559Elasticity must be a number from 1"),
        ("chain_op_config.eip1559Denominator", 2**32, "chain_op_config.eip1559Denominator must be a number from 1"),
        ("isthmus_time", ..., "isthmus_time is missing"),
        ("regolith_time", None, "regolith_time is missing"),
        ("holocene_time", 1_700_000_001, "holocene_time is 1700000001, after genesis at 1700000000"),
        ("jovian_time", 1_800_000_000, "jovian_time is 1800000000, after genesis"),
        ("karst_time", 1_800_000_000, "karst_time is 1800000000, after genesis"),
        ("fjord_time", "0", "fjord_time must be a number"),
        ("interop_time", 1_800_000_000, "interop_time: this fork is not supported"),
        ("later_time", 0, "later_time: this fork is not supported"),
    ],
)
def test_fault_names_the_field(path: str, value: Any, words: str) -> None:
    with pytest.raises(RollupConfigError) as error:
        parse_rollup_config(changed(path, value))
    assert words in str(error.value)


def test_karst_requires_jovian() -> None:
    config = changed("karst_time", 0) | {"jovian_time": None}
    with pytest.raises(RollupConfigError, match="karst_time needs jovian_time"):
        parse_rollup_config(config)


@pytest.mark.parametrize("value", [None, 5, [], "x", {}])
def test_other_json_is_not_a_rollup_configuration(value: Any) -> None:
    with pytest.raises(RollupConfigError, match="this is not a rollup configuration of op-node"):
        parse_rollup_config(value)
