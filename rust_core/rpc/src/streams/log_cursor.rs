//! Cursor of a log reader. It contains all state that the next page needs, so that no process has to store
//! any.

use alloy_primitives::{B256, FixedBytes, keccak256};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};
use foreseal_primitives::LogFilter;
use serde::{Deserialize, Serialize};

/// The only version so far.
const VERSION: u8 = 1;

/// Position of a reader between two logs.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable, Deserialize, Serialize)]
pub struct LogCursor {
    version: u8,
    /// Checksum of the filter.
    filter: FixedBytes<4>,
    /// First block of the whole query.
    pub from: u64,
    /// Number of the finalized block at the last page. Blocks up to this one cannot have changed since.
    pub finalized: u64,
    seen: Vec<ReaderPosition>,
}

/// Last block that a reader has seen, as it was then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable, Deserialize, Serialize)]
pub struct ReaderPosition {
    pub number: u64,
    /// Hash of the block, or of the step of it that was seen.
    pub hash: B256,
    /// Number of its logs that the reader has passed.
    pub logs: u64,
}

impl LogCursor {
    /// Creates a cursor before block `from`.
    pub fn new(filter: &LogFilter, from: u64, finalized: u64) -> Self {
        Self { version: VERSION, filter: check(filter), from, finalized, seen: Vec::new() }
    }

    /// Decodes the bytes of [`Self::encode`].
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let cursor: Self = alloy_rlp::decode_exact(bytes).ok()?;
        (cursor.version == VERSION && cursor.seen.len() <= 1).then_some(cursor)
    }

    /// Encodes the cursor; a client receives these bytes in hex.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length());
        Encodable::encode(self, &mut bytes);
        bytes
    }

    /// Returns `true` if the cursor belongs to a query with this filter.
    pub fn is_of(&self, filter: &LogFilter) -> bool {
        self.filter == check(filter)
    }

    /// Returns the last block that was seen, or `None` before the first block.
    pub fn seen(&self) -> Option<ReaderPosition> {
        self.seen.first().copied()
    }

    pub fn set_seen(&mut self, seen: Option<ReaderPosition>) {
        self.seen = seen.into_iter().collect();
    }
}

fn check(filter: &LogFilter) -> FixedBytes<4> {
    let mut bytes = Vec::new();
    filter.addresses().to_vec().encode(&mut bytes);
    filter.topics().to_vec().encode(&mut bytes);
    FixedBytes::from_slice(&keccak256(bytes)[..4])
}
