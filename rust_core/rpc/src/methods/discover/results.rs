//! Results of the methods, for the OpenRPC document.

use super::result_schemas::{
    ARRAY, ARRAY_OR_NULL, BOOLEAN, DATA, HASH, OBJECT, OBJECT_OR_ARRAY, OBJECT_OR_NULL, QUANTITY,
    QUANTITY_OR_NULL, ResultSchema, TEXT,
};
use crate::methods::discover::development;

/// Description of a result in the document.
#[derive(Clone, Copy)]
pub struct ResultDoc {
    pub description: &'static str,
    /// JSON Schema.
    pub schema: &'static str,
}

/// Description, schema, and the methods with this result.
const RESULTS: &[ResultSchema] = &[
    ("a number", QUANTITY, &["eth_blockNumber", "eth_chainId", "net_peerCount"]),
    (
        "wei, or wei per gas",
        QUANTITY,
        &["eth_getBalance", "eth_gasPrice", "eth_baseFee", "eth_blobBaseFee", "eth_maxPriorityFeePerGas"],
    ),
    ("a gas limit with which the call succeeds", QUANTITY, &["eth_estimateGas"]),
    ("bytes and fields of the transaction, with a signature of zeros", OBJECT, &["eth_fillTransaction"]),
    ("the nonce of the account's next transaction", QUANTITY, &["eth_getTransactionCount"]),
    ("bytes", DATA, &["eth_getCode", "eth_call", "debug_getRawBlock", "debug_getRawHeader"]),
    ("the word in the slot, 32 bytes", HASH, &["eth_getStorageAt"]),
    ("the values of each account's slots, in the order of the request", OBJECT, &["eth_getStorageValues"]),
    (
        "EIP-2718 bytes, 0x if the transaction does not exist",
        DATA,
        &["debug_getRawTransaction", "eth_getRawTransactionByHash"],
    ),
    (
        "EIP-2718 bytes, 0x beyond the last transaction, null if the block does not exist",
        QUANTITY_OR_NULL,
        &["eth_getRawTransactionByBlockHashAndIndex", "eth_getRawTransactionByBlockNumberAndIndex"],
    ),
    ("EIP-2718 bytes of each receipt", ARRAY, &["debug_getRawReceipts"]),
    (
        "a count, null if the block does not exist",
        QUANTITY_OR_NULL,
        &[
            "eth_getBlockTransactionCountByHash",
            "eth_getBlockTransactionCountByNumber",
            "eth_getUncleCountByBlockHash",
            "eth_getUncleCountByBlockNumber",
        ],
    ),
    ("the block, null if it does not exist", OBJECT_OR_NULL, &["eth_getBlockByHash", "eth_getBlockByNumber"]),
    (
        "the transaction, null if it does not exist",
        OBJECT_OR_NULL,
        &[
            "eth_getTransactionByHash",
            "eth_getTransactionByBlockHashAndIndex",
            "eth_getTransactionByBlockNumberAndIndex",
        ],
    ),
    ("the receipt, null if it does not exist", OBJECT_OR_NULL, &["eth_getTransactionReceipt"]),
    ("the receipts of the block, null if it does not exist", ARRAY_OR_NULL, &["eth_getBlockReceipts"]),
    ("the receipt", OBJECT, &["eth_sendRawTransactionSync"]),
    ("the transaction's hash", HASH, &["eth_sendRawTransaction"]),
    ("logs in the order of the chain", ARRAY, &["eth_getLogs", "eth_getFilterLogs"]),
    ("a page of logs, and the cursor of the next one, null if it is the last", OBJECT, &["foreseal_getLogs"]),
    (
        "the filter's id",
        QUANTITY,
        &["eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"],
    ),
    ("changes since the last poll of the filter: logs, or hashes", ARRAY, &["eth_getFilterChanges"]),
    ("true if the filter existed", BOOLEAN, &["eth_uninstallFilter"]),
    ("the subscription's id", DATA, &["eth_subscribe"]),
    ("true if the subscription existed", BOOLEAN, &["eth_unsubscribe"]),
    (
        "a page of flashblocks, the cursor of the next one, and true if it ends with the newest step",
        OBJECT,
        &["foreseal_getFlashblocks"],
    ),
    ("the simulated blocks with the results of their calls", ARRAY, &["eth_simulateV1"]),
    ("result of the tracer", OBJECT_OR_ARRAY, &["debug_traceCall", "debug_traceTransaction"]),
    (
        "txHash and result of each transaction of the block",
        ARRAY,
        &["debug_traceBlockByHash", "debug_traceBlockByNumber"],
    ),
    ("the account with its proofs (EIP-1186)", OBJECT, &["eth_getProof"]),
    ("the rules now, next and last (EIP-7910)", OBJECT, &["eth_config"]),
    ("the head, and the oldest available block of each resource", OBJECT, &["eth_capabilities"]),
    ("fees of a range of blocks", OBJECT, &["eth_feeHistory"]),
    ("addresses and slots that the call touches, and its gas", OBJECT, &["eth_createAccessList"]),
    ("false: nothing to catch up with", BOOLEAN, &["eth_syncing"]),
    ("true if the node listens", BOOLEAN, &["net_listening"]),
    ("the chain id in decimal", TEXT, &["net_version"]),
    ("name and version of the node", TEXT, &["web3_clientVersion"]),
    ("keccak-256 of the bytes", HASH, &["web3_sha3"]),
    ("numbers of executable and of queued transactions", OBJECT, &["txpool_status"]),
    ("pooled transactions by list, sender and nonce", OBJECT, &["txpool_content", "txpool_inspect"]),
    ("pooled transactions of the sender by list and nonce", OBJECT, &["txpool_contentFrom"]),
    ("status of the transaction", OBJECT, &["foreseal_transactionStatus", "base_transactionStatus"]),
    (
        "the signed step that first held the transaction, with a proof; null when no block holds it",
        OBJECT_OR_NULL,
        &["foreseal_preconfirmation"],
    ),
    ("position, freshness and role of the node", OBJECT, &["foreseal_status"]),
    ("modules and their versions", OBJECT, &["rpc_modules"]),
    ("this document", OBJECT, &["rpc.discover"]),
    (
        "successor: name of the standby that takes over, or null; confirmed: the quorum confirmed the release",
        OBJECT,
        &["foreseal_handover"],
    ),
    ("true", BOOLEAN, &["foreseal_setFinality"]),
];

fn rows() -> impl Iterator<Item = &'static ResultSchema> {
    RESULTS.iter().chain(development::RESULTS)
}

/// Returns the description of a method's result.
pub fn result_of_method(name: &str) -> ResultDoc {
    let (description, schema, _) =
        rows().find(|(_, _, names)| names.contains(&name)).expect("every method has a row");
    ResultDoc { description, schema }
}

/// Returns the errors that are specific to the method.
pub fn errors(name: &str) -> Vec<(i64, &'static str)> {
    match name {
        "eth_call" => vec![(3, "execution reverted"), (-32000, "the call cannot be executed")],
        "eth_estimateGas" => vec![(-32000, "execution reverted")],
        "eth_fillTransaction" | "eth_sendTransaction" => vec![(3, "execution reverted")],
        "eth_sendRawTransaction" => vec![(-32000, "the transaction is rejected")],
        "eth_sendRawTransactionSync" => vec![
            (-32000, "the transaction is rejected"),
            (4, "not pre-confirmed within the timeout"),
            (5, "the transaction cannot be executed"),
            (6, "the transaction has a nonce gap"),
        ],
        "debug_traceCall" => vec![(-32000, "the call cannot be executed")],
        "debug_traceTransaction" => vec![(-32000, "transaction not found")],
        "debug_traceBlockByHash" => vec![(-32000, "genesis is not traceable"), (-32001, "block not found")],
        "debug_traceBlockByNumber" => vec![(-32000, "genesis is not traceable")],
        "eth_simulateV1" => vec![
            (-38010, "nonce too low"),
            (-38011, "nonce too high"),
            (-38012, "the base fee is higher than the fee"),
            (-38013, "the gas limit is below the intrinsic gas"),
            (-38014, "insufficient funds"),
            (-38015, "the block's gas limit is reached"),
            (-38020, "block numbers are not in order"),
            (-38021, "block timestamps are not in order"),
            (-38022, "a precompile is moved to its own address"),
            (-38024, "the sender has code"),
            (-38025, "init code is too large"),
            (-38026, "the request exceeds a limit"),
            (-32016, "the time limit is exceeded"),
            (-32000, "the blocks cannot be executed"),
        ],
        "eth_getFilterChanges" => {
            vec![(-32000, "filter not found"), (-32005, "limit exceeded"), (-32001, "block not found")]
        }
        "eth_subscribe" => {
            vec![(-32601, "requires a WebSocket"), (-32005, "limit exceeded")]
        }
        "eth_unsubscribe" => vec![(-32601, "requires a WebSocket")],
        "foreseal_getFlashblocks" => vec![(-32001, "the step of the cursor is no longer available")],
        "eth_getFilterLogs" => vec![(-32000, "filter not found"), (-32005, "limit exceeded")],
        "eth_getBlockReceipts" => vec![(-32004, "rejected on the public endpoint")],
        "foreseal_preconfirmation" => vec![(-32001, "the step has no signature")],
        "eth_newBlockFilter" | "eth_newPendingTransactionFilter" | "txpool_content" | "txpool_inspect" => {
            vec![(-32005, "limit exceeded")]
        }
        _ => Vec::new(),
    }
}

/// Returns the names of the methods whose result is described.
#[cfg(test)]
pub fn described() -> impl Iterator<Item = &'static str> {
    rows().flat_map(|(_, _, names)| names.iter().copied())
}
