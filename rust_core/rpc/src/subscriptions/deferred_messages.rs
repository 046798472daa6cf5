//! Messages of a large change, rendered as their readers accept them.

use std::sync::Arc;

use foreseal_chain::Change;
use foreseal_primitives::{Block, ChainSpec, receipt_json_size, transaction_json_size};
use parking_lot::Mutex;

use super::{Chunk, ChunkSize, ChunkStart, Rendering, Stream};

/// Size of a chunk: what the event loop sends at once to one client.
const CHUNK: ChunkSize = ChunkSize { bytes: 60 << 10, messages: 256 };

/// Messages that one change causes in one stream, in chunks that are rendered on request.
///
/// It retains the block of the change and no rendered text.
#[derive(Clone, Debug)]
pub struct DeferredMessages(Arc<DeferredChange>);

#[derive(Debug)]
struct DeferredChange {
    stream: Stream,
    change: Change,
    spec: Arc<ChainSpec>,
    size: usize,
    /// Starts of the chunks rendered so far and of the one after them; `None` after the last chunk.
    starts: Mutex<Vec<Option<ChunkStart>>>,
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
        Self(Arc::new(DeferredChange {
            stream: stream.clone(),
            change: change.clone(),
            spec: spec.clone(),
            size: json_size(block, first),
            starts: Mutex::new(vec![Some(ChunkStart::First)]),
        }))
    }

    /// Returns an upper bound of the size of the change as JSON, in bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Renders chunk `number`. Returns `None` unless it is the first one or follows one that was rendered before.
    pub fn render(&self, number: usize) -> Option<DeferredChunk> {
        let DeferredChange { stream, change, spec, .. } = &*self.0;
        let start = self.0.starts.lock().get(number).copied().flatten()?;
        let Chunk { messages, next } = Rendering { stream, change, spec }.chunk(start, CHUNK);
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

/// Returns an upper bound of the size of the transactions and receipts from `first` on as JSON.
fn json_size(block: &Block, first: usize) -> usize {
    let transactions =
        block.transactions.iter().skip(first).map(|transaction| transaction_json_size(transaction));
    let receipts = block.receipts.iter().skip(first).map(|receipt| receipt_json_size(receipt));
    transactions.chain(receipts).fold(0, usize::saturating_add)
}
