//! Results of the development methods.

use super::result_schemas::{
    ARRAY, BOOLEAN, DATA, HASH, HASH_OR_NULL, NULL, NUMBER, NUMBER_OR_NULL, OBJECT, QUANTITY, ResultSchema,
};

/// Description, schema, and the methods with this result.
pub const RESULTS: &[ResultSchema] = &[
    (
        "nothing",
        NULL,
        &[
            "anvil_autoImpersonateAccount",
            "anvil_impersonateAccount",
            "anvil_mine",
            "anvil_reorg",
            "anvil_rollback",
            "anvil_setBalance",
            "anvil_setCode",
            "anvil_setCoinbase",
            "anvil_setNextBlockBaseFeePerGas",
            "anvil_setNextBlockTimestamp",
            "anvil_setNonce",
            "anvil_stopImpersonatingAccount",
            "evm_setAutomine",
            "evm_setIntervalMining",
            "evm_setNextBlockTimestamp",
            "hardhat_impersonateAccount",
            "hardhat_mine",
            "hardhat_setBalance",
            "hardhat_setCode",
            "hardhat_setCoinbase",
            "hardhat_setNextBlockBaseFeePerGas",
            "hardhat_setNonce",
            "hardhat_stopImpersonatingAccount",
        ],
    ),
    ("addresses of the accounts whose keys the node has", ARRAY, &["eth_accounts"]),
    (
        "execution payload, its value in wei, its requests and an empty bundle of blobs",
        OBJECT,
        &["testing_buildBlockV1"],
    ),
    ("the transaction's hash", HASH, &["eth_sendTransaction"]),
    (
        "the signature: r, s and v, 65 bytes",
        DATA,
        &["eth_sign", "eth_signTypedData", "eth_signTypedData_v4", "personal_sign"],
    ),
    ("true", BOOLEAN, &["anvil_setStorageAt", "hardhat_setStorageAt"]),
    ("zero", QUANTITY, &["evm_mine"]),
    ("the snapshot's id", QUANTITY, &["anvil_snapshot", "evm_snapshot"]),
    ("true if the snapshot existed", BOOLEAN, &["anvil_revert", "evm_revert"]),
    ("true if each transaction is mined immediately", BOOLEAN, &["anvil_getAutomine", "hardhat_getAutomine"]),
    ("seconds between blocks, null if interval mining is off", NUMBER_OR_NULL, &["anvil_getIntervalMining"]),
    (
        "offset of the clock in seconds, or seconds by which it was moved",
        NUMBER,
        &["anvil_increaseTime", "anvil_setTime", "evm_increaseTime", "evm_setTime"],
    ),
    (
        "the transaction's hash, null when it was not in the pool",
        HASH_OR_NULL,
        &["anvil_dropTransaction", "hardhat_dropTransaction"],
    ),
];
