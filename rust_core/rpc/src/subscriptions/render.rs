//! Rendering of chain changes as JSON messages of each stream.

use foreseal_chain::{BlockAtStep, Change, matching_logs};
use foreseal_primitives::{Block, ChainSpec, LogFilter};

use super::{
    Stream,
    flashblock::{added, write_flashblock},
};
use crate::json::{
    BlockOfReceipt, Inclusion, Object, write_block_fields, write_data, write_header, write_log,
    write_outcome_fields, write_transaction_fields,
};

/// Messages of one stream, each the JSON of a `result`.
#[derive(Debug, Default)]
pub struct Messages(Vec<String>);

impl Messages {
    /// Appends the message that `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut json = Vec::new();
        write(&mut json);
        self.0.push(String::from_utf8(json).expect("JSON is written in ASCII"));
    }

    /// Returns the messages, oldest first.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// Appends the messages that `change` causes in `stream` to `messages`.
///
/// Streams of pool transactions and of the sync state do not depend on chain changes.
pub fn render(stream: &Stream, change: &Change, spec: &ChainSpec, messages: &mut Messages) {
    match (stream, change) {
        (Stream::NewHeads, Change::Sealed(block)) => messages.write(|out| write_header(out, block)),
        (Stream::Logs(filter), Change::Sealed(block)) => write_logs(messages, block, filter, 0, false),
        (Stream::Logs(filter), Change::Unsealed(block)) => write_logs(messages, block, filter, 0, true),
        (stream, Change::Step(step)) => render_step(stream, step, spec, messages, false),
        (stream, Change::Removed(step)) => render_step(stream, step, spec, messages, true),
        (_, Change::Sealed(_) | Change::Unsealed(_)) => {}
    }
}

fn render_step(
    stream: &Stream,
    step: &BlockAtStep,
    spec: &ChainSpec,
    messages: &mut Messages,
    removed: bool,
) {
    let block = &step.block;
    match stream {
        Stream::PendingLogs(filter) => {
            write_logs(messages, block, filter, block.log_count(step.first), removed);
        }
        Stream::NewFlashblockTransactions { full } => {
            let mut write = |index| {
                messages.write(|out| {
                    if *full {
                        write_confirmed(out, spec, block, index, removed);
                    } else {
                        write_hash(out, block, index, removed);
                    }
                });
            };
            if removed {
                added(block, step.first).rev().for_each(&mut write);
            } else {
                added(block, step.first).for_each(&mut write);
            }
        }
        Stream::NewFlashblocks => messages.write(|out| {
            let mut object = Object::open(out);
            write_block_fields(&mut object, block, true);
            mark(&mut object, removed);
            object.close();
        }),
        Stream::Feed => messages.write(|out| write_flashblock(out, spec, step, removed)),
        Stream::NewHeads | Stream::Logs(_) | Stream::NewPendingTransactions { .. } | Stream::Syncing => {}
    }
}

/// Writes a transaction of a step with the additional fields of its receipt.
fn write_confirmed(out: &mut Vec<u8>, spec: &ChainSpec, block: &Block, index: usize, removed: bool) {
    let (transaction, receipt) = (&block.transactions[index], &block.receipts[index]);
    let index = index as u64;
    let mut object = Object::open(out);
    write_transaction_fields(&mut object, transaction, Some(Inclusion::new(block, index)));
    object.data("transactionHash", transaction.hash());
    let shown = BlockOfReceipt::new(spec, block);
    write_outcome_fields(&mut object, &shown, index, (transaction, receipt), removed);
    mark(&mut object, removed);
    object.close();
}

fn write_hash(out: &mut Vec<u8>, block: &Block, index: usize, removed: bool) {
    let hash = block.transactions[index].hash();
    if !removed {
        return write_data(out, hash.as_slice());
    }
    let mut object = Object::open(out);
    object.data("hash", hash);
    mark(&mut object, removed);
    object.close();
}

/// Marks an object as removed. Objects that are not removed have the same format as in other methods.
fn mark(object: &mut Object<'_>, removed: bool) {
    if removed {
        object.json("removed", "true");
    }
}

/// Appends a message for each matching log from index `first` on. Removed logs are in reverse order.
fn write_logs(messages: &mut Messages, block: &Block, filter: &LogFilter, first: u64, removed: bool) {
    let start = messages.0.len();
    for found in matching_logs(block, filter, first) {
        messages.write(|out| write_log(out, &found, removed));
    }
    if removed {
        messages.0[start..].reverse();
    }
}
