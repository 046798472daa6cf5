//! Logs.

use alloy_primitives::{B256, Log};

use super::{Object, write_data};
use crate::json::BlockOfReceipt;

/// A log of `transaction` (its hash and index), at `log_index` in `block`.
pub fn write_log(
    out: &mut Vec<u8>,
    block: &BlockOfReceipt<'_>,
    transaction: (&B256, u64),
    log_index: u64,
    log: &Log,
) {
    let mut object = Object::open(out);
    object
        .data("address", log.address)
        .list("topics", log.topics(), |out, topic| write_data(out, topic.as_slice()))
        .data("data", &log.data.data)
        .quantity("blockNumber", block.header.number)
        .data("transactionHash", transaction.0)
        .quantity("transactionIndex", transaction.1)
        .data("blockHash", block.hash)
        .quantity("blockTimestamp", block.header.timestamp)
        .quantity("logIndex", log_index)
        .json("removed", "false")
        .close();
}
