//! Flashblock in the format of the feed.

use foreseal_chain::{BlockAtStep, StepCursor};
use foreseal_primitives::{Block, ChainSpec};

use crate::json::{
    BlockOfReceipt, Inclusion, Object, write_cursor, write_header, write_receipt, write_transaction,
};

/// Writes a flashblock. `removed` means that its step is no longer on the chain.
pub fn write_flashblock(out: &mut Vec<u8>, spec: &ChainSpec, step: &BlockAtStep, removed: bool) {
    let BlockAtStep { block, index, first, previous, time, signature } = step;
    let mut object = Object::open(out);
    object
        .quantity("number", block.header.number)
        .quantity("index", *index)
        .data("hash", block.hash)
        .data("parent", previous)
        .quantity("time", *time)
        .nullable_data("signature", signature.as_ref());
    write_header(object.name("header"), block);
    object.list("transactions", added(block, *first), |out, index| {
        let transaction = &block.transactions[index];
        write_transaction(out, transaction, Some(Inclusion::new(block, index as u64)));
    });
    let shown = BlockOfReceipt::new(spec, block);
    object
        .list("receipts", added(block, *first), |out, index| {
            let (transaction, receipt) = (&block.transactions[index], &block.receipts[index]);
            write_receipt(out, &shown, index as u64, transaction, receipt);
        })
        .json("removed", if removed { "true" } else { "false" })
        .close();
}

/// Returns the indices of the transactions that a step adds.
pub fn added(block: &Block, first: usize) -> std::ops::Range<usize> {
    first..block.transactions.len()
}

/// Writes a heartbeat: the newest step, after which there is none.
pub fn write_heartbeat(out: &mut Vec<u8>, cursor: &StepCursor) {
    let mut object = Object::open(out);
    write_cursor(object.name("heartbeat"), cursor);
    object.close();
}
