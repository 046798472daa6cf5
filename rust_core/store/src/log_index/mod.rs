//! Index of logs by address and topic, which is searched without reading logs.
//!
//! Every log has an ordinal: its position among all logs of the chain, from 0. For each criterion
//! (an address; a topic at one of the four positions; a number of topics) the index stores the
//! ordinals of matching logs in chunks of 2^16 ordinals. The key is the criterion and the chunk
//! number; the value is a bitmap of the ordinals' low bits. The chunks of a criterion are
//! contiguous, and a chunk without matches does not exist.
//!
//! A search skips ahead: it seeks, for each criterion, the first chunk at or after the furthest of them,
//! until all criteria are at the same chunk. Only then does it read bitmaps. Its time depends on the
//! chunks of its rarest criterion inside the range and on the number of matches. It does not depend on the
//! length of the range or its number of logs.
//!
//! | file | content |
//! |---|---|
//! | `criterion` | keys, and the criteria of a log and a filter |
//! | `chunk` | values |
//! | `additions` | logs of new blocks; each chunk is written once |
//! | `removal` | logs of unwound blocks |
//! | `union` | chunks of any of several criteria |
//! | `matches` | the search |
//! | `check` | comparison of the index with the logs |

mod additions;
mod check;
mod chunk;
mod criterion;
mod matches;
mod removal;
mod union;

pub(crate) use chunk::rewritten as rewritten_chunk;

use heed::{Database, types::Bytes};

pub use additions::IndexAdditions;
pub use criterion::Criterion;
pub use matches::{Matches, Next};

/// Number of ordinal bits inside a chunk: as many as one container of a roaring bitmap holds.
const CHUNK_BITS: u32 = 16;

/// The index, in one LMDB table. Writes are part of the caller's transaction.
#[derive(Clone, Copy, Debug)]
pub struct LogIndex {
    table: Database<'static, Bytes, Bytes>,
    chunk_bits: u32,
}

/// Reasons for which the index cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogIndexError {
    #[error("log index: {0}")]
    Lmdb(#[from] heed::Error),
    #[error("log index is damaged: chunk {chunk} of {criterion}")]
    Damaged { criterion: Criterion, chunk: u32 },
    #[error("log index disagrees with the logs: {criterion} {} log {ordinal}", if *.indexed {"has"} else {"lacks"})]
    Disagrees { criterion: Criterion, ordinal: u64, indexed: bool },
    #[error("log index has {extra} entries without a log")]
    Extra { extra: u64 },
}

impl LogIndex {
    /// Returns the index in this table.
    pub fn new(table: Database<'static, Bytes, Bytes>) -> Self {
        Self { table, chunk_bits: CHUNK_BITS }
    }

    /// Returns the index with smaller chunks, for tests and benchmarks. `bits` is 1 to 16,
    /// and the same at every opening of a table.
    #[must_use]
    pub fn with_chunk_bits(self, bits: u32) -> Self {
        Self { chunk_bits: bits.clamp(1, CHUNK_BITS), ..self }
    }

    /// Returns the number of the chunk that contains an ordinal.
    fn chunk(self, ordinal: u64) -> u32 {
        u32::try_from(ordinal >> self.chunk_bits).expect("fewer than 2^48 logs")
    }

    /// Returns an ordinal's position in its chunk.
    fn low(self, ordinal: u64) -> u16 {
        u16::try_from(ordinal & (self.chunk_size() - 1)).expect("at most 16 bits")
    }

    /// Returns the number of ordinals in a chunk.
    fn chunk_size(self) -> u64 {
        1 << self.chunk_bits
    }
}
