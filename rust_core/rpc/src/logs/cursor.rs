//! Where a reader of logs stands: everything that a later page needs, so that no process has to remember it.

use alloy_primitives::{B256, FixedBytes, keccak256};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};
use foreseal_types::LogFilter;

/// The only form there has been.
const VERSION: u8 = 1;

/// The place between logs that a reader has come to.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct Cursor {
    version: u8,
    /// What is searched for, as a check.
    filter: FixedBytes<4>,
    /// First block of the whole query.
    pub from: u64,
    /// Number of the finalized block at the last page: what was on the chain then is there up to this block.
    pub finalized: u64,
    seen: Vec<Seen>,
}

/// The last block that a reader has seen, as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct Seen {
    pub number: u64,
    /// Of the block, or of the step of it that was seen.
    pub hash: B256,
    /// How many of its logs are done.
    pub logs: u64,
}

impl Cursor {
    /// In front of block `from`.
    pub fn new(filter: &LogFilter, from: u64, finalized: u64) -> Self {
        Self { version: VERSION, filter: check(filter), from, finalized, seen: Vec::new() }
    }

    /// Reads what [`Self::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let cursor: Self = alloy_rlp::decode_exact(bytes).ok()?;
        (cursor.version == VERSION && cursor.seen.len() <= 1).then_some(cursor)
    }

    /// The bytes that a client gets, in hex.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length());
        Encodable::encode(self, &mut bytes);
        bytes
    }

    /// Whether it came from a search for the same.
    pub fn is_of(&self, filter: &LogFilter) -> bool {
        self.filter == check(filter)
    }

    /// `None` before the first block.
    pub fn seen(&self) -> Option<Seen> {
        self.seen.first().copied()
    }

    pub fn set_seen(&mut self, seen: Option<Seen>) {
        self.seen = seen.into_iter().collect();
    }
}

fn check(filter: &LogFilter) -> FixedBytes<4> {
    let mut bytes = Vec::new();
    filter.addresses().to_vec().encode(&mut bytes);
    filter.topics().to_vec().encode(&mut bytes);
    FixedBytes::from_slice(&keccak256(bytes)[..4])
}
