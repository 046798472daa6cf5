//! Logs.

use foreseal_primitives::FoundLog;

use super::{hex::write_data, object::Object};

/// Writes a log. `removed` means that its block is no longer on the chain.
pub fn write_log(out: &mut Vec<u8>, entry: &FoundLog<'_>, removed: bool) {
    let mut object = Object::open(out);
    object
        .data("address", entry.log.address)
        .list("topics", entry.log.topics(), |out, topic| write_data(out, topic.as_slice()))
        .data("data", &entry.log.data.data)
        .quantity("blockNumber", entry.block_number)
        .data("transactionHash", entry.transaction_hash)
        .quantity("transactionIndex", entry.transaction_index)
        .data("blockHash", entry.block_hash)
        .quantity("blockTimestamp", entry.timestamp)
        .quantity("logIndex", entry.index)
        .json("removed", if removed { "true" } else { "false" })
        .close();
}
