"""Answers over the recorded chain have the form that the execution API gives them, and no key more.

Written after the OpenRPC sources of ethereum/execution-apis at 033ca6e (7 August 2026).
"""

import re
from typing import Any

import pytest

from live import LiveNode, RpcFailure

# A shape is a pattern of a string, a type, a tuple of alternatives, [items], {name: shape}, or None for null.
QUANTITY = re.compile("0x(0|[1-9a-f][0-9a-f]*)")
DATA = re.compile("0x([0-9a-f]{2})*")
HASH = re.compile("0x[0-9a-f]{64}")
ADDRESS = re.compile("0x[0-9a-f]{40}")
FORK_HASH = re.compile("0x[0-9a-f]{8}")
DECIMAL = re.compile("0|[1-9][0-9]*")

SLOT_PROOF = {"key": re.compile("0x[0-9a-f]{0,64}"), "value": QUANTITY, "proof": [DATA]}
PROOF = {
    "address": ADDRESS,
    "accountProof": [DATA],
    "balance": QUANTITY,
    "codeHash": HASH,
    "nonce": QUANTITY,
    "storageHash": HASH,
    "storageProof": [SLOT_PROOF],
}
HISTORY = {
    "oldestBlock": QUANTITY,
    "baseFeePerGas": [QUANTITY],
    "baseFeePerBlobGas": [QUANTITY],
    "gasUsedRatio": [(int, float)],
    "blobGasUsedRatio": [(int, float)],
}
POOL = {"pending": dict, "queued": dict}

BLOCK_1 = "0x80e911b62f552f563a2544dfef5eb39ec8863d9082c998ca6b657f76e19de38e"
IN_BLOCK_1 = "0xc1d605c6612a5fe84dc95810030bfe5b1d327652b381bc695e28f50d13b2b09e"
CONTRACT = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"
NOBODY = "0xc1cadaffffffffffffffffffffffffffffffffff"
UNKNOWN = "0x" + "ab" * 32

ANSWERS: list[tuple[str, list[Any], Any]] = [
    ("eth_blockNumber", [], QUANTITY),
    ("eth_chainId", [], QUANTITY),
    ("eth_syncing", [], bool),
    ("eth_gasPrice", [], QUANTITY),
    ("eth_baseFee", [], QUANTITY),
    ("eth_blobBaseFee", [], QUANTITY),
    ("eth_maxPriorityFeePerGas", [], QUANTITY),
    ("net_version", [], DECIMAL),
    ("eth_feeHistory", ["0x5", "latest", []], HISTORY | {"reward": [[]]}),
    ("eth_feeHistory", ["0x5", "pending", [10, 99.5]], HISTORY | {"reward": [[QUANTITY]]}),
    ("eth_getProof", [CONTRACT, ["0x0", "0x00", UNKNOWN]], PROOF),
    ("eth_getProof", [NOBODY, ["0x1"], "pending"], PROOF),
    ("eth_getStorageValues", [{CONTRACT: ["0x0"]}, "pending"], {CONTRACT: [HASH]}),
    ("eth_getBlockTransactionCountByHash", [BLOCK_1], QUANTITY),
    ("eth_getBlockTransactionCountByHash", [UNKNOWN], None),
    ("eth_getBlockTransactionCountByNumber", ["pending"], QUANTITY),
    ("eth_getBlockTransactionCountByNumber", ["0x1000"], None),
    ("eth_getUncleCountByBlockHash", [BLOCK_1], QUANTITY),
    ("eth_getUncleCountByBlockNumber", ["0x3"], QUANTITY),
    ("eth_getTransactionByBlockHashAndIndex", [BLOCK_1, "0x1000"], None),
    ("eth_getTransactionByBlockNumberAndIndex", ["0x1", "0x0"], dict),
    ("debug_getRawHeader", ["latest"], DATA),
    ("debug_getRawBlock", ["pending"], DATA),
    ("debug_getRawReceipts", ["0x3"], [DATA]),
    ("debug_getRawTransaction", [IN_BLOCK_1], DATA),
    ("debug_getRawTransaction", [UNKNOWN], DATA),
    ("txpool_status", [], {"pending": QUANTITY, "queued": QUANTITY}),
    ("txpool_content", [], POOL),
    ("txpool_contentFrom", [CONTRACT], POOL),
]

ERRORS: list[tuple[str, list[Any], int]] = [
    ("eth_getProof", [CONTRACT, [], "0x1000"], -32001),
    ("eth_getProof", [CONTRACT, ["0x1"] * 1025], -32005),
    ("eth_getProof", [CONTRACT], -32602),
    ("eth_getStorageValues", [{}], -32602),
    ("eth_getStorageValues", [{CONTRACT: ["0x0"]}, "0x1000"], -32001),
    ("eth_feeHistory", ["0x1", "0x1000", []], -32001),
    ("debug_getRawBlock", ["0x1000"], -32001),
    ("debug_getRawHeader", ["0x1000"], -32001),
    ("debug_getRawReceipts", ["0x1000"], -32001),
    ("debug_getRawTransaction", ["0x12"], -32602),
    ("eth_sendRawTransactionSync", ["0x02"], -32000),
]


def fits(value: Any, shape: Any) -> bool:
    """Whether JSON has the shape."""
    match shape:
        case None:
            return value is None
        case re.Pattern():
            return isinstance(value, str) and shape.fullmatch(value) is not None
        case tuple():
            return any(fits(value, one) for one in shape)
        case []:
            return value == []
        case [item]:
            return isinstance(value, list) and all(fits(one, item) for one in value)
        case dict():
            return (
                isinstance(value, dict)
                and value.keys() == shape.keys()
                and all(fits(value[k], shape[k]) for k in shape)
            )
    return type(value) is shape


@pytest.mark.parametrize(("method", "params", "shape"), ANSWERS)
def test_an_answer_has_its_form(serving: LiveNode, method: str, params: list[Any], shape: Any) -> None:
    answer = serving.rpc(method, *params)
    assert fits(answer, shape), answer


@pytest.mark.parametrize(("method", "params", "code"), ERRORS)
def test_an_error_has_its_code(serving: LiveNode, method: str, params: list[Any], code: int) -> None:
    with pytest.raises(RpcFailure) as raised:
        serving.rpc(method, *params)
    assert raised.value.code == code


def test_the_configuration_has_its_form(serving: LiveNode) -> None:
    current = serving.rpc("eth_config")["current"]
    contracts = {name: ADDRESS for kind in ("precompiles", "systemContracts") for name in current[kind]}
    assert fits(current.pop("precompiles") | current.pop("systemContracts"), contracts)
    schedule = {"target": int, "max": int, "baseFeeUpdateFraction": int}
    assert fits(current, {"activationTime": int, "blobSchedule": schedule, "chainId": QUANTITY, "forkId": FORK_HASH})
