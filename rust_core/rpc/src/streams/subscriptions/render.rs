//! Rendering of chain changes as JSON messages of each stream.

use foreseal_chain::{BlockAtStep, Change, StepLogs, matching_logs};
use foreseal_primitives::{Block, ChainSpec, LogFilter};

use super::{
    flashblock::added,
    flashblock_parts::{FlashblockParts, PART_SIZE, PartStart},
    stream::Stream,
};
use crate::json::{
    block::{write_block_fields, write_header},
    hex::write_data,
    log::write_log,
    object::Object,
    receipt::{BlockOfReceipt, write_outcome_fields},
    transaction::{Inclusion, write_transaction_fields},
};

/// Messages of one stream, each the JSON of a `result`, and their size in bytes.
#[derive(Debug, Default)]
pub struct Messages(Vec<String>, usize);

impl Messages {
    /// Appends the message that `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut json = Vec::new();
        write(&mut json);
        self.1 += json.len();
        self.0.push(String::from_utf8(json).expect("JSON is written in ASCII"));
    }

    /// Returns `true` if a chunk of this size accepts another message.
    pub fn has_room(&self, size: ChunkSize) -> bool {
        self.0.is_empty() || (self.1 < size.bytes && self.0.len() < size.messages)
    }

    /// Returns the messages, oldest first.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// Start of a chunk of the messages that a change causes in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkStart {
    First,
    /// Number of messages before it.
    Message(usize),
    /// Index of the log at which it starts.
    Log(u64),
    Part(PartStart),
}

/// Sizes at which a chunk ends. It has at least one message.
#[derive(Clone, Copy, Debug)]
pub struct ChunkSize {
    pub bytes: usize,
    pub messages: usize,
}

/// Messages of a chunk, and the start of the next one.
#[derive(Debug)]
pub struct Chunk {
    pub messages: Messages,
    /// `None` if the change causes no further messages.
    pub next: Option<ChunkStart>,
}

/// Change that is rendered for a stream.
#[derive(Clone, Copy)]
pub struct Rendering<'a> {
    pub stream: &'a Stream,
    pub change: &'a Change,
    pub spec: &'a ChainSpec,
}

impl Rendering<'_> {
    /// Renders the messages from `start` on.
    ///
    /// Streams of pool transactions and of the sync state do not depend on chain changes.
    pub fn chunk(&self, start: ChunkStart, size: ChunkSize) -> Chunk {
        match (self.stream, self.change) {
            (Stream::NewHeads, Change::Sealed(block)) => single(|out| write_header(out, block)),
            (Stream::Logs(filter), Change::Sealed(block)) => logs(block, filter, 0, (start, size)),
            (Stream::Logs(filter), Change::Unsealed(block)) => removed_logs(block, filter, 0, (start, size)),
            (_, Change::Step(step)) => self.step_chunk(step, false, (start, size)),
            (_, Change::Removed(step)) => self.step_chunk(step, true, (start, size)),
            (_, Change::Sealed(_) | Change::Unsealed(_)) => none(),
        }
    }

    fn step_chunk(&self, step: &BlockAtStep, removed: bool, at: (ChunkStart, ChunkSize)) -> Chunk {
        let block = &step.block;
        match self.stream {
            Stream::PendingLogs(filter) if removed => {
                removed_logs(block, filter, block.log_count(step.first), at)
            }
            Stream::PendingLogs(filter) => logs(block, filter, block.log_count(step.first), at),
            Stream::NewFlashblockTransactions { full } => {
                let write = |out: &mut Vec<u8>, index| {
                    if *full {
                        write_confirmed(out, self.spec, block, index, removed);
                    } else {
                        write_hash(out, block, index, removed);
                    }
                };
                let indices = added(block, step.first);
                if removed { collect(indices.rev(), at, write) } else { collect(indices, at, write) }
            }
            Stream::NewFlashblocks => single(|out| {
                let mut object = Object::open(out);
                write_block_fields(&mut object, block, true);
                mark(&mut object, removed);
                object.close();
            }),
            Stream::Feed => {
                let start = if let (ChunkStart::Part(start), _) = at { start } else { PartStart::default() };
                let logs = &StepLogs::InReceipts;
                let parts = FlashblockParts { spec: self.spec, step, logs, removed, size: PART_SIZE };
                let mut messages = Messages::default();
                let mut next = None;
                messages.write(|out| next = parts.write(out, start).expect("the receipts have their logs"));
                Chunk { messages, next: next.map(ChunkStart::Part) }
            }
            Stream::NewHeads | Stream::Logs(_) | Stream::NewPendingTransactions { .. } | Stream::Syncing => {
                none()
            }
        }
    }
}

fn none() -> Chunk {
    Chunk { messages: Messages::default(), next: None }
}

fn single(write: impl FnOnce(&mut Vec<u8>)) -> Chunk {
    let mut messages = Messages::default();
    messages.write(write);
    Chunk { messages, next: None }
}

/// Renders one message for each item from the start on, until the chunk has its size.
fn collect<T>(
    items: impl Iterator<Item = T>,
    (start, size): (ChunkStart, ChunkSize),
    mut write: impl FnMut(&mut Vec<u8>, T),
) -> Chunk {
    let skipped = if let ChunkStart::Message(skipped) = start { skipped } else { 0 };
    let mut items = items.skip(skipped).peekable();
    let mut messages = Messages::default();
    while messages.has_room(size) {
        let Some(item) = items.next() else { break };
        messages.write(|out| write(out, item));
    }
    let next = items.peek().map(|_| ChunkStart::Message(skipped + messages.0.len()));
    Chunk { messages, next }
}

/// Renders the matching logs from index `first` on.
fn logs(block: &Block, filter: &LogFilter, first: u64, (start, size): (ChunkStart, ChunkSize)) -> Chunk {
    let first = if let ChunkStart::Log(begin) = start { begin } else { first };
    let mut logs = matching_logs(block, filter, first).peekable();
    let mut messages = Messages::default();
    while messages.has_room(size) {
        let Some(log) = logs.next() else { break };
        messages.write(|out| write_log(out, &log, false));
    }
    let next = logs.peek().map(|log| ChunkStart::Log(log.index));
    Chunk { messages, next }
}

/// Renders the matching logs from index `first` on as removed, in reverse order.
fn removed_logs(block: &Block, filter: &LogFilter, first: u64, at: (ChunkStart, ChunkSize)) -> Chunk {
    let logs: Vec<_> = matching_logs(block, filter, first).collect();
    collect(logs.iter().rev(), at, |out, log| write_log(out, log, true))
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
