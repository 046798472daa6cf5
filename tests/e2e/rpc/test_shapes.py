"""Responses over the recorded chain have the execution API's shape, and no additional key.

test_chain_shapes.py covers blocks and their contents.
"""

from typing import Any

import pytest

from live import DEV_ACCOUNTS, LiveNode, Rpc, RpcFailure
from live.sending import signed
from live.shapes import (
    ADDRESS,
    ANY_ADDRESS,
    DATA,
    DECIMAL,
    FORK_HASH,
    HASH,
    HISTORY,
    LOG,
    POOL,
    PROOF,
    QUANTITY,
    TRACE,
    TRANSACTION,
    WITH_HASHES,
    WITH_TRANSACTIONS,
    fits,
)
from live_node import shared

BLOCK_1 = "0x80e911b62f552f563a2544dfef5eb39ec8863d9082c998ca6b657f76e19de38e"
IN_BLOCK_1 = "0xc1d605c6612a5fe84dc95810030bfe5b1d327652b381bc695e28f50d13b2b09e"
CONTRACT = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"
NOBODY = "0xc1cadaffffffffffffffffffffffffffffffffff"
UNKNOWN = "0x" + "ab" * 32
REVERTS = {"input": "0x60006000fd"}

ANSWERS: list[tuple[str, list[Any], Any]] = [
    ("eth_blockNumber", [], QUANTITY),
    ("eth_chainId", [], QUANTITY),
    ("eth_syncing", [], bool),
    (
        "eth_capabilities",
        [],
        {
            "head": {"number": QUANTITY, "hash": HASH},
            **{
                key: {"disabled": bool, "oldestBlock": QUANTITY}
                for key in ("state", "tx", "logs", "receipts", "blocks")
            },
            "stateproofs": {
                "disabled": bool,
                "oldestBlock": QUANTITY,
                "deleteStrategy": {"type": str, "retentionBlocks": QUANTITY},
            },
        },
    ),
    ("eth_gasPrice", [], QUANTITY),
    ("eth_baseFee", [], QUANTITY),
    ("eth_blobBaseFee", [], QUANTITY),
    ("eth_maxPriorityFeePerGas", [], QUANTITY),
    ("net_version", [], DECIMAL),
    ("net_listening", [], bool),
    ("net_peerCount", [], QUANTITY),
    ("web3_clientVersion", [], str),
    ("web3_sha3", ["0x68656c6c6f"], HASH),
    ("eth_call", [{"to": NOBODY}], DATA),
    ("eth_estimateGas", [{"to": NOBODY}, "pending"], QUANTITY),
    ("eth_fillTransaction", [{"to": NOBODY}], {"raw": DATA, "tx": TRANSACTION}),
    ("eth_createAccessList", [{"to": NOBODY}], {"accessList": [], "gasUsed": QUANTITY}),
    ("eth_createAccessList", [REVERTS], {"accessList": [], "gasUsed": QUANTITY, "error": str}),
    ("eth_getBalance", [NOBODY], QUANTITY),
    ("eth_getCode", [CONTRACT, "pending"], DATA),
    ("eth_getStorageAt", [CONTRACT, "0x0", "finalized"], HASH),
    ("eth_getTransactionCount", [NOBODY, "safe"], QUANTITY),
    ("eth_feeHistory", ["0x5", "latest", []], HISTORY | {"reward": [[]]}),
    ("eth_feeHistory", ["0x5", "pending", [10, 99.5]], HISTORY | {"reward": [[QUANTITY]]}),
    ("eth_feeHistory", ["0x5", "latest"], HISTORY),
    ("eth_getProof", [CONTRACT, ["0x0", "0x00", UNKNOWN]], PROOF),
    ("eth_getProof", [NOBODY, ["0x1"], "pending"], PROOF),
    ("eth_getStorageValues", [{CONTRACT: ["0x0"]}, "pending"], {CONTRACT: [HASH]}),
    ("eth_getBlockByNumber", ["pending", True], WITH_TRANSACTIONS),
    ("eth_getBlockByNumber", ["earliest", False], WITH_HASHES),
    ("eth_getBlockByNumber", ["0x1000", False], None),
    ("eth_getBlockByHash", [UNKNOWN, False], None),
    ("eth_getBlockReceipts", ["pending"], []),
    ("eth_getBlockReceipts", [UNKNOWN], None),
    ("eth_getTransactionReceipt", [UNKNOWN], None),
    ("eth_getTransactionByHash", [UNKNOWN], None),
    ("eth_getBlockTransactionCountByHash", [BLOCK_1], QUANTITY),
    ("eth_getBlockTransactionCountByHash", [UNKNOWN], None),
    ("eth_getBlockTransactionCountByNumber", ["pending"], QUANTITY),
    ("eth_getBlockTransactionCountByNumber", ["0x1000"], None),
    ("eth_getUncleCountByBlockHash", [BLOCK_1], QUANTITY),
    ("eth_getUncleCountByBlockHash", [UNKNOWN], None),
    ("eth_getUncleCountByBlockNumber", ["0x3"], QUANTITY),
    ("eth_getUncleCountByBlockNumber", ["0x1000"], None),
    ("eth_getTransactionByBlockHashAndIndex", [BLOCK_1, "0x1000"], None),
    ("eth_getTransactionByBlockHashAndIndex", [UNKNOWN, "0x0"], None),
    ("eth_getTransactionByBlockNumberAndIndex", ["0x1", "0x0"], TRANSACTION),
    ("eth_getTransactionByBlockNumberAndIndex", ["0x1000", "0x0"], None),
    ("eth_getLogs", [{"fromBlock": "earliest"}], [LOG]),
    ("debug_getRawHeader", ["latest"], DATA),
    ("debug_getRawBlock", ["pending"], DATA),
    ("debug_getRawReceipts", ["0x3"], [DATA]),
    ("debug_getRawTransaction", [IN_BLOCK_1], DATA),
    ("debug_getRawTransaction", [UNKNOWN], DATA),
    ("debug_traceCall", [{"to": CONTRACT}, "latest"], TRACE),
    ("txpool_status", [], {"pending": QUANTITY, "queued": QUANTITY}),
    ("txpool_content", [], {"pending": POOL, "queued": POOL}),
    ("txpool_contentFrom", [CONTRACT], {"pending": {DECIMAL: TRANSACTION}, "queued": {DECIMAL: TRANSACTION}}),
]

ERRORS: list[tuple[str, list[Any], int]] = [
    ("eth_call", [REVERTS], 3),
    ("eth_call", [{"to": NOBODY}, "0x1000"], -32001),
    ("eth_call", [{"to": NOBODY, "input": "0x01", "data": "0x02"}], -32602),
    # spec.md has another error code for estimates than the execution API.
    ("eth_estimateGas", [REVERTS], -32000),
    ("eth_estimateGas", [{"from": NOBODY, "to": CONTRACT, "value": "0x1"}], -32000),
    ("eth_estimateGas", [{"to": NOBODY}, "0x1000"], -32001),
    ("eth_fillTransaction", [REVERTS], 3),
    ("eth_createAccessList", [{"to": NOBODY}, "0x1000"], -32001),
    ("eth_getBalance", [NOBODY, "0x1000"], -32001),
    ("eth_getCode", [NOBODY, {"blockHash": UNKNOWN}], -32001),
    ("eth_getStorageAt", [CONTRACT, "0x0", "0x1000"], -32001),
    ("eth_getTransactionCount", [NOBODY, "0x1000"], -32001),
    ("eth_getProof", [CONTRACT, [], "0x1000"], -32001),
    ("eth_getProof", [CONTRACT, ["0x1"] * 1025], -32005),
    ("eth_getProof", [CONTRACT], -32602),
    ("eth_getStorageValues", [{}], -32602),
    ("eth_getStorageValues", [{CONTRACT: ["0x0"]}, "0x1000"], -32001),
    ("eth_simulateV1", [{"blockStateCalls": [{}]}, "0x1000"], -32000),
    ("eth_feeHistory", ["0x1", "0x1000", []], -32001),
    ("eth_feeHistory", ["0x1", "latest", [50, 10]], -32602),
    ("eth_getLogs", [{"blockHash": UNKNOWN}], -32001),
    ("eth_getLogs", [{"fromBlock": "0x2", "toBlock": "0x1"}], -32602),
    ("eth_getFilterChanges", ["0x1"], -32000),
    ("eth_getFilterLogs", ["0x1"], -32000),
    ("debug_getRawBlock", ["0x1000"], -32001),
    ("debug_getRawHeader", ["0x1000"], -32001),
    ("debug_getRawReceipts", ["0x1000"], -32001),
    ("debug_getRawTransaction", ["0x12"], -32602),
    ("debug_traceBlockByNumber", ["0x1000"], -32001),
    ("debug_traceBlockByHash", [UNKNOWN], -32000),
    ("debug_traceTransaction", [UNKNOWN], -32000),
    ("debug_traceCall", [{"to": NOBODY}, "0x1000"], -32001),
    ("eth_sendRawTransaction", ["0x02"], -32000),
    ("eth_sendRawTransactionSync", ["0x02"], -32000),
]


@pytest.mark.parametrize(("method", "params", "shape"), ANSWERS)
def test_response_matches_its_schema(serving: LiveNode, method: str, params: list[Any], shape: Any) -> None:
    answer = serving.rpc(method, *params)
    assert fits(answer, shape), answer


@pytest.mark.parametrize(("method", "params", "code"), ERRORS)
def test_an_error_has_its_code(serving: LiveNode, method: str, params: list[Any], code: int) -> None:
    with pytest.raises(RpcFailure) as raised:
        serving.rpc(method, *params)
    assert raised.value.code == code


def test_configuration_matches_its_schema(serving: LiveNode) -> None:
    current = serving.rpc("eth_config")["current"]
    contracts = {name: ADDRESS for kind in ("precompiles", "systemContracts") for name in current[kind]}
    assert fits(current.pop("precompiles") | current.pop("systemContracts"), contracts)
    schedule = {"target": int, "max": int, "baseFeeUpdateFraction": int}
    assert fits(current, {"activationTime": int, "blobSchedule": schedule, "chainId": QUANTITY, "forkId": FORK_HASH})


RAW = (
    "eth_getRawTransactionByHash",
    "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex",
)
FILTERS = {
    "eth_newFilter": [{"fromBlock": "earliest"}],
    "eth_newBlockFilter": [],
    "eth_newPendingTransactionFilter": [],
}


@pytest.mark.parametrize("method", FILTERS)
def test_filter_matches_its_schema_and_is_removed_once(serving: LiveNode, method: str) -> None:
    ident = serving.rpc(method, *FILTERS[method])
    assert fits(ident, QUANTITY)
    changes = serving.rpc("eth_getFilterChanges", ident)
    if method == "eth_newFilter":
        logs = serving.rpc("eth_getFilterLogs", ident)
        assert fits(logs, [LOG])
        assert len(logs) > 10
        assert fits(changes, [LOG])
    else:
        assert fits(changes, [HASH])
        with pytest.raises(RpcFailure) as raised:
            serving.rpc("eth_getFilterLogs", ident)
        assert raised.value.code == -32000
    assert [serving.rpc("eth_uninstallFilter", ident) for _ in range(2)] == [True, False]


def test_pool_content_matches_its_schema(rpc: Rpc) -> None:
    """Uses a development node; a nonce gap keeps the transaction in the pool."""
    alice = DEV_ACCOUNTS[0]
    sent = rpc("eth_sendRawTransaction", signed(alice, 1000))
    assert fits(sent, HASH)
    assert fits(rpc("eth_getTransactionByHash", sent), TRANSACTION)
    content = rpc("txpool_content")
    assert fits(content, {"pending": POOL, "queued": POOL})
    mine = rpc("txpool_contentFrom", alice.address.lower())
    assert fits(mine, {"pending": {DECIMAL: TRANSACTION}, "queued": {"1000": TRANSACTION}})
    pooled = mine["queued"]["1000"]
    assert (pooled["hash"], pooled["blockHash"], pooled["blockNumber"]) == (sent, None, None)
    assert content["queued"][alice.address] == mine["queued"]
    assert rpc("txpool_status")["queued"] == "0x1"
    assert fits(rpc("txpool_inspect"), {"pending": dict, "queued": {ANY_ADDRESS: {DECIMAL: str}}})


def test_every_method_is_tried(serving: LiveNode) -> None:
    """Every method in `rpc.discover` is in these tables, in the recorded exchanges, or listed here with its test."""
    elsewhere = {
        **dict.fromkeys(("rpc.discover", "rpc_modules"), "tests/unit/rpc/test_discovery.py"),
        "eth_config": "test_configuration_matches_its_schema",
        **dict.fromkeys((*FILTERS, "eth_uninstallFilter"), "test_filter_matches_its_schema_and_is_removed_once"),
        "txpool_inspect": "test_pool_content_matches_its_schema",
        **dict.fromkeys(RAW, "test_chain_shapes.py"),
        **dict.fromkeys(("eth_subscribe", "eth_unsubscribe"), "test_websocket.py"),
        "foreseal_getFlashblocks": "rust_core/rpc/src/tests/streams/flashblocks.rs",
        "foreseal_getLogs": "rust_core/rpc/src/tests/log_pages.rs",
        "foreseal_preconfirmation": "tests/integration/test_preconfirmation.py",
        "foreseal_status": "test_recorded_exchanges.py",
        **dict.fromkeys(("foreseal_transactionStatus", "base_transactionStatus"), "rust_core/rpc/src/tests/txpool.rs"),
    }
    served = {method["name"] for method in serving.rpc("rpc.discover")["methods"]}
    recorded = {path.name for path in shared("execution-apis").iterdir() if path.is_dir()}
    assert len(recorded) >= 19
    tables = {method for method, _, _ in ANSWERS + ERRORS}
    assert served - recorded - tables - elsewhere.keys() == set()
    assert elsewhere.keys() <= served
