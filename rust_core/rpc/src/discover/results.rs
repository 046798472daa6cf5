//! What methods answer, for the OpenRPC document.

/// A result as the document shows it.
#[derive(Clone, Copy)]
pub struct Answer {
    pub description: &'static str,
    /// JSON Schema.
    pub schema: &'static str,
}

const QUANTITY: &str = r#"{"type":"string","pattern":"^0x(0|[1-9a-f][0-9a-f]*)$"}"#;
const DATA: &str = r#"{"type":"string","pattern":"^0x([0-9a-f]{2})*$"}"#;
const HASH: &str = r#"{"type":"string","pattern":"^0x[0-9a-f]{64}$"}"#;
const OBJECT: &str = r#"{"type":"object"}"#;
const OBJECT_OR_NULL: &str = r#"{"type":["object","null"]}"#;
const ARRAY: &str = r#"{"type":"array"}"#;
const ARRAY_OR_NULL: &str = r#"{"type":["array","null"]}"#;
const QUANTITY_OR_NULL: &str = r#"{"type":["string","null"]}"#;
const TEXT: &str = r#"{"type":"string"}"#;
const BOOLEAN: &str = r#"{"type":"boolean"}"#;

type Row = (&'static str, &'static str, &'static [&'static str]);

/// Description, schema, and the methods that answer so.
const RESULTS: &[Row] = &[
    ("a number", QUANTITY, &["eth_blockNumber", "eth_chainId", "net_peerCount"]),
    (
        "wei, or wei per gas",
        QUANTITY,
        &["eth_getBalance", "eth_gasPrice", "eth_baseFee", "eth_blobBaseFee", "eth_maxPriorityFeePerGas"],
    ),
    ("a gas limit with which the call succeeds", QUANTITY, &["eth_estimateGas"]),
    ("the nonce of the account's next transaction", QUANTITY, &["eth_getTransactionCount"]),
    ("bytes", DATA, &["eth_getCode", "eth_call", "debug_getRawBlock", "debug_getRawHeader"]),
    ("the word in the slot, 32 bytes", HASH, &["eth_getStorageAt"]),
    (
        "the words of each account's slots, in the order in which they were asked for",
        OBJECT,
        &["eth_getStorageValues"],
    ),
    (
        "EIP-2718 bytes, 0x when there is no such transaction",
        DATA,
        &["debug_getRawTransaction", "eth_getRawTransactionByHash"],
    ),
    (
        "EIP-2718 bytes, 0x beyond the last transaction, null when there is no such block",
        QUANTITY_OR_NULL,
        &["eth_getRawTransactionByBlockHashAndIndex", "eth_getRawTransactionByBlockNumberAndIndex"],
    ),
    ("EIP-2718 bytes of each receipt", ARRAY, &["debug_getRawReceipts"]),
    (
        "a count, null when there is no such block",
        QUANTITY_OR_NULL,
        &[
            "eth_getBlockTransactionCountByHash",
            "eth_getBlockTransactionCountByNumber",
            "eth_getUncleCountByBlockHash",
            "eth_getUncleCountByBlockNumber",
        ],
    ),
    ("the block, null when there is none", OBJECT_OR_NULL, &["eth_getBlockByHash", "eth_getBlockByNumber"]),
    (
        "the transaction, null when there is none",
        OBJECT_OR_NULL,
        &[
            "eth_getTransactionByHash",
            "eth_getTransactionByBlockHashAndIndex",
            "eth_getTransactionByBlockNumberAndIndex",
        ],
    ),
    ("the receipt, null when there is none", OBJECT_OR_NULL, &["eth_getTransactionReceipt"]),
    ("the receipts of the block, null when there is no such block", ARRAY_OR_NULL, &["eth_getBlockReceipts"]),
    ("the receipt", OBJECT, &["eth_sendRawTransactionSync"]),
    ("the transaction's hash", HASH, &["eth_sendRawTransaction"]),
    ("logs in the order of the chain", ARRAY, &["eth_getLogs"]),
    ("the account with its proofs (EIP-1186)", OBJECT, &["eth_getProof"]),
    ("the rules now, next and last (EIP-7910)", OBJECT, &["eth_config"]),
    ("prices of a range of blocks", OBJECT, &["eth_feeHistory"]),
    ("addresses and slots that the call touches, and its gas", OBJECT, &["eth_createAccessList"]),
    ("false: nothing to catch up with", BOOLEAN, &["eth_syncing"]),
    ("whether the node listens", BOOLEAN, &["net_listening"]),
    ("the chain id in decimal", TEXT, &["net_version"]),
    ("name and version of the node", TEXT, &["web3_clientVersion"]),
    ("keccak-256 of the bytes", HASH, &["web3_sha3"]),
    ("how many transactions can run, and how many wait", OBJECT, &["txpool_status"]),
    ("pooled transactions by list, sender and nonce", OBJECT, &["txpool_content", "txpool_inspect"]),
    ("pooled transactions of the sender by list and nonce", OBJECT, &["txpool_contentFrom"]),
    ("where the transaction stands", OBJECT, &["foreseal_transactionStatus", "base_transactionStatus"]),
    ("position, freshness and role of the node", OBJECT, &["foreseal_status"]),
    ("modules and their versions", OBJECT, &["rpc_modules"]),
    ("this document", OBJECT, &["rpc.discover"]),
];

/// What a method answers.
pub fn of(name: &str) -> Answer {
    let row = RESULTS.iter().find(|(_, _, names)| names.contains(&name));
    let (description, schema) =
        row.map_or(("the answer", "{}"), |(description, schema, _)| (*description, *schema));
    Answer { description, schema }
}

/// Errors that are the method's own.
pub fn errors(name: &str) -> Vec<(i64, &'static str)> {
    match name {
        "eth_call" => vec![(3, "execution reverted"), (-32000, "the call cannot be executed")],
        "eth_estimateGas" => vec![(-32000, "execution reverted")],
        "eth_sendRawTransaction" => vec![(-32000, "the transaction is refused")],
        "eth_sendRawTransactionSync" => vec![
            (-32000, "the transaction is refused"),
            (4, "it was in no step within the time"),
            (5, "it cannot be executed"),
            (6, "its nonce leaves a gap"),
        ],
        "eth_getBlockReceipts" => vec![(-32004, "refused on the public endpoint")],
        "txpool_content" | "txpool_inspect" => vec![(-32005, "limit exceeded")],
        _ => Vec::new(),
    }
}

/// Names of the methods whose result is described.
#[cfg(test)]
pub fn described() -> impl Iterator<Item = &'static str> {
    RESULTS.iter().flat_map(|(_, _, names)| names.iter().copied())
}
