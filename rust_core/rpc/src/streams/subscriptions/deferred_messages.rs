//! Messages of a large change or of large arrivals, rendered as their readers accept them.

use std::sync::Arc;

use foreseal_chain::Change;
use foreseal_primitives::{Block, ChainSpec, Transaction, receipt_json_size, transaction_json_size};
use parking_lot::Mutex;

use super::{
    render::{Chunk, ChunkSize, ChunkStart, Messages, Rendering},
    stream::Stream,
};
use crate::json::transaction::write_transaction;

/// Size of a chunk: what the event loop sends at once to one client.
const CHUNK: ChunkSize = ChunkSize { bytes: 60 << 10, messages: 256 };

/// Messages of one stream that one change or several arrivals cause, in chunks that are rendered on request.
///
/// It retains the block of the change or the transactions, and no rendered text.
#[derive(Clone, Debug)]
pub struct DeferredMessages(Arc<Deferred>);

#[derive(Debug)]
struct Deferred {
    source: Source,
    size: usize,
    /// Starts of the chunks rendered so far and of the one after them; `None` after the last chunk.
    starts: Mutex<Vec<Option<ChunkStart>>>,
}

#[derive(Debug)]
enum Source {
    Change(Box<DeferredChange>),
    /// Transactions that arrived in the pool.
    Arrivals(Vec<Arc<Transaction>>),
}

#[derive(Debug)]
struct DeferredChange {
    stream: Stream,
    change: Change,
    spec: Arc<ChainSpec>,
}

impl Source {
    fn chunk(&self, start: ChunkStart, size: ChunkSize) -> Chunk {
        match self {
            Self::Change(change) => {
                let DeferredChange { stream, change, spec } = &**change;
                Rendering { stream, change, spec }.chunk(start, size)
            }
            Self::Arrivals(transactions) => arrivals_chunk(transactions, start, size),
        }
    }
}

/// Chunk of deferred messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredChunk {
    /// Messages, each the JSON of a `result`; at least one.
    pub messages: Vec<String>,
    /// `true` if no chunk follows.
    pub is_last: bool,
}

impl DeferredMessages {
    pub(super) fn new(stream: &Stream, change: &Change, spec: &Arc<ChainSpec>) -> Self {
        let (block, first) = match change {
            Change::Step(step) | Change::Removed(step) => (&step.block, step.first),
            Change::Sealed(block) | Change::Unsealed(block) => (block, 0),
        };
        let size = json_size(block, first);
        let source = DeferredChange { stream: stream.clone(), change: change.clone(), spec: spec.clone() };
        Self::from_source(Source::Change(Box::new(source)), size)
    }

    /// Defers the messages of transactions that arrived in the pool.
    pub(super) fn of_arrivals(transactions: &[Arc<Transaction>]) -> Self {
        let size = transactions.iter().map(|transaction| transaction_json_size(transaction)).sum();
        Self::from_source(Source::Arrivals(transactions.to_vec()), size)
    }

    fn from_source(source: Source, size: usize) -> Self {
        Self(Arc::new(Deferred { source, size, starts: Mutex::new(vec![Some(ChunkStart::First)]) }))
    }

    /// Returns an upper bound of the size as JSON, in bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Renders chunk `number`. Returns `None` unless it is the first one or follows one that was rendered before.
    pub fn render(&self, number: usize) -> Option<DeferredChunk> {
        let start = self.0.starts.lock().get(number).copied().flatten()?;
        let Chunk { messages, next } = self.0.source.chunk(start, CHUNK);
        let mut starts = self.0.starts.lock();
        if starts.len() == number + 1 {
            starts.push(next);
        }
        Some(DeferredChunk { messages: messages.into_vec(), is_last: next.is_none() })
    }
}

impl PartialEq for DeferredMessages {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for DeferredMessages {}

/// Renders arrivals, each a message. A chunk starts at the first one, or after this number of messages.
pub(super) fn arrivals_chunk(transactions: &[Arc<Transaction>], start: ChunkStart, size: ChunkSize) -> Chunk {
    let first = if let ChunkStart::Message(first) = start { first } else { 0 };
    let mut messages = Messages::default();
    for (index, transaction) in transactions.iter().enumerate().skip(first) {
        if !messages.has_room(size) {
            return Chunk { messages, next: Some(ChunkStart::Message(index)) };
        }
        messages.write(|out| write_transaction(out, transaction, None));
    }
    Chunk { messages, next: None }
}

/// Returns an upper bound of the size of the transactions and receipts from `first` on as JSON.
fn json_size(block: &Block, first: usize) -> usize {
    let transactions =
        block.transactions.iter().skip(first).map(|transaction| transaction_json_size(transaction));
    let receipts = block.receipts.iter().skip(first).map(|receipt| receipt_json_size(receipt));
    transactions.chain(receipts).fold(0, usize::saturating_add)
}
