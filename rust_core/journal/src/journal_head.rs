//! The newest block of a journal.

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use serde::Serialize;

/// Number and hash of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JournalHead {
    pub number: u64,
    pub hash: B256,
}

/// Returns the number and hash of the block in an import record.
pub(crate) fn imported(block: &[u8]) -> Option<JournalHead> {
    let mut payload = alloy_rlp::Header::decode_bytes(&mut &*block, true).ok()?;
    let header = Header::decode(&mut payload).ok()?;
    Some(JournalHead { number: header.number, hash: header.hash_slow() })
}
