//! Logs.

use foreseal_primitives::FoundLog;

use super::{hex::write_data, object::Object};

/// Writes a log. `removed` means that its block is no longer on the chain.
pub fn write_log(out: &mut Vec<u8>, found: &FoundLog<'_>, removed: bool) {
    let mut object = Object::open(out);
    object
        .data("address", found.log.address)
        .list("topics", found.log.topics(), |out, topic| write_data(out, topic.as_slice()))
        .data("data", &found.log.data.data)
        .quantity("blockNumber", found.block_number)
        .data("transactionHash", found.transaction_hash)
        .quantity("transactionIndex", found.transaction_index)
        .data("blockHash", found.block_hash)
        .quantity("blockTimestamp", found.timestamp)
        .quantity("logIndex", found.index)
        .json("removed", if removed { "true" } else { "false" })
        .close();
}
