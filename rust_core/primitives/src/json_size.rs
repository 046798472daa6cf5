//! Upper bounds of the size of logs, receipts and transactions as JSON, computed without rendering them.
//!
//! JSON is the largest form in which a node serves the result of a transaction. The builder bounds a step by it, and a
//! method refuses an answer by it before it renders anything. A test of the renderer compares the bounds with its
//! output.

use alloy_consensus::Transaction as _;
use alloy_primitives::Log;

use crate::{receipt::Receipt, transaction::Transaction};

/// Names, punctuation, hashes and the longest quantities of a log without topics and data.
const LOG_BASE: usize = 440;
/// A 32-byte value with its quotes and comma.
const TOPIC_SIZE: usize = 69;
/// Receipt without logs, with the fields of blobs and of OP chains.
const RECEIPT_BASE: usize = 1700;
/// Transaction without input and lists.
const TRANSACTION_BASE: usize = 1300;
/// Item of an access list without its keys.
const ACCESS_ITEM: usize = 80;
/// Authorization of EIP-7702.
const AUTHORIZATION: usize = 360;

/// Returns an upper bound of a log's size as JSON, in bytes.
pub fn log_json_size(log: &Log) -> usize {
    LOG_BASE + TOPIC_SIZE * log.topics().len() + 2 * log.data.data.len()
}

/// Returns an upper bound of a receipt's size as JSON, in bytes.
pub fn receipt_json_size(receipt: &Receipt) -> usize {
    RECEIPT_BASE + logs_json_size(&receipt.logs)
}

/// Returns an upper bound of the bytes that a transaction and its receipt with these logs have as JSON.
pub fn result_json_size(transaction: &Transaction, logs: &[Log]) -> usize {
    transaction_json_size(transaction) + RECEIPT_BASE + logs_json_size(logs)
}

fn logs_json_size(logs: &[Log]) -> usize {
    logs.iter().map(log_json_size).sum()
}

/// Returns an upper bound of a transaction's size as JSON, in bytes.
pub fn transaction_json_size(transaction: &Transaction) -> usize {
    let envelope = transaction.envelope();
    let access = envelope.access_list().map_or(0, |list| {
        list.iter().map(|item| ACCESS_ITEM + TOPIC_SIZE * item.storage_keys.len()).sum::<usize>()
    });
    let blobs = envelope.blob_versioned_hashes().map_or(0, |hashes| TOPIC_SIZE * hashes.len());
    let authorizations = envelope.authorization_list().map_or(0, |list| AUTHORIZATION * list.len());
    TRANSACTION_BASE + 2 * envelope.input().len() + access + blobs + authorizations
}
