//! Flashblock in the format of the feed.

use foreseal_chain::{BlockAtStep, StepCursor};
use foreseal_primitives::{Block, ChainSpec};

use crate::json::{
    block::write_header,
    cursor::write_cursor,
    object::Object,
    receipt::{BlockOfReceipt, write_receipt},
    transaction::{Inclusion, write_transaction},
};

/// Writes a flashblock. `removed` means that its step is no longer on the chain.
pub fn write_flashblock(out: &mut Vec<u8>, spec: &ChainSpec, step: &BlockAtStep, removed: bool) {
    let (block, first) = (&step.block, step.first);
    let mut object = Object::open(out);
    write_step_head(&mut object, step);
    object.list("transactions", added(block, first), |out, index| {
        let transaction = &block.transactions[index];
        write_transaction(out, transaction, Some(Inclusion::new(block, index as u64)));
    });
    let shown = BlockOfReceipt::new(spec, block);
    object
        .list("receipts", added(block, first), |out, index| {
            let (transaction, receipt) = (&block.transactions[index], &block.receipts[index]);
            write_receipt(out, &shown, index as u64, transaction, receipt);
        })
        .json("removed", if removed { "true" } else { "false" })
        .close();
}

/// Writes the fields that name a step.
pub fn write_step(object: &mut Object<'_>, step: &BlockAtStep) {
    object
        .quantity("number", step.block.header.number)
        .quantity("index", step.index)
        .data("hash", step.block.hash);
}

/// Writes the fields of a step before its transactions.
pub fn write_step_head(object: &mut Object<'_>, step: &BlockAtStep) {
    write_step(object, step);
    object
        .data("parent", step.previous)
        .quantity("time", step.time)
        .nullable_data("signature", step.signature.as_ref());
    write_header(object.name("header"), &step.block);
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
