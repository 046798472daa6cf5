//! Which logs have an address or a topic, without reading them.
//!
//! Every log has an ordinal: its place among all logs of the chain, from 0. For each criterion (an address; a topic at
//! one of the four positions; a number of topics) the index holds the ordinals that have it, cut into chunks of 2^16
//! ordinals: key = criterion and number of the chunk, value = bitmap of the ordinals' low bits. A criterion's chunks lie
//! side by side, and a chunk in which nothing has it does not exist.
//!
//! A search leaps: it asks each of its criteria for the first chunk at or after the furthest of them, until all are at the
//! same one, and only then reads bitmaps. Its time follows the chunks of its rarest criterion inside the range, and what
//! it finds, not the length of the range and not the number of logs in it.
//!
//! | file | what |
//! |---|---|
//! | `criterion` | keys; what a log and a filter have to do with them |
//! | `chunk` | values |
//! | `additions` | logs of new blocks, each chunk touched once |
//! | `removal` | logs of unwound blocks |
//! | `any_of` | chunks of any of several criteria |
//! | `matches` | the search |
//! | `check` | index against logs |

mod additions;
mod any_of;
mod check;
mod chunk;
mod criterion;
mod matches;
mod removal;

pub(crate) use chunk::rewritten as rewritten_chunk;

use heed::{Database, types::Bytes};

pub use additions::Additions;
pub use criterion::Criterion;
pub use matches::{Matches, Next};

/// Bits of an ordinal that are inside a chunk: as many as one container of a roaring bitmap holds.
const CHUNK_BITS: u32 = 16;

/// The index: one LMDB table. Writes are part of the caller's transaction.
#[derive(Clone, Copy, Debug)]
pub struct LogIndex {
    table: Database<'static, Bytes, Bytes>,
    chunk_bits: u32,
}

/// Why the index cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogIndexError {
    #[error("log index: {0}")]
    Lmdb(#[from] heed::Error),
    #[error("log index is damaged: chunk {chunk} of {criterion}")]
    Damaged { criterion: Criterion, chunk: u32 },
    #[error("log index disagrees with the logs: {criterion} {} log {ordinal}", if *.indexed {"has"} else {"lacks"})]
    Disagrees { criterion: Criterion, ordinal: u64, indexed: bool },
    #[error("log index has {extra} entries that no log accounts for")]
    Extra { extra: u64 },
}

impl LogIndex {
    /// The index in this table.
    pub fn new(table: Database<'static, Bytes, Bytes>) -> Self {
        Self { table, chunk_bits: CHUNK_BITS }
    }

    /// The same with smaller chunks, for tests and measurements; `bits` is 1 to 16, the same at every opening of a table.
    #[must_use]
    pub fn with_chunk_bits(self, bits: u32) -> Self {
        Self { chunk_bits: bits.clamp(1, CHUNK_BITS), ..self }
    }

    /// Number of the chunk that an ordinal is in.
    fn chunk(self, ordinal: u64) -> u32 {
        u32::try_from(ordinal >> self.chunk_bits).expect("fewer than 2^48 logs")
    }

    /// An ordinal's place in its chunk.
    fn low(self, ordinal: u64) -> u16 {
        u16::try_from(ordinal & (self.chunk_size() - 1)).expect("at most 16 bits")
    }

    /// Ordinals in a chunk.
    fn chunk_size(self) -> u64 {
        1 << self.chunk_bits
    }
}
