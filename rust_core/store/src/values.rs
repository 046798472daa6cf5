//! Encodings of stored values by name, for tests that decode arbitrary bytes.

use alloy_rlp::{Decodable, Encodable};

use crate::{
    block::{BlockRecord, StoredLog, StoredReceipt, StoredStep, encode_log},
    log_index::rewritten_chunk,
    nodes::changes::NodeKeys,
    state::value,
};

/// An encoding of stored values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueEncoding {
    Account,
    Slot,
    /// A chunk of the log index.
    Chunk,
    Log,
    Receipt,
    /// The record of a block, without its hash.
    Record,
    Step,
    /// The node locations that a block wrote.
    NodeKeys,
}

impl ValueEncoding {
    /// All encodings.
    pub const ALL: [Self; 8] = [
        Self::Account,
        Self::Slot,
        Self::Chunk,
        Self::Log,
        Self::Receipt,
        Self::Record,
        Self::Step,
        Self::NodeKeys,
    ];

    /// Returns `true` if each value has exactly one encoding.
    pub fn is_canonical(self) -> bool {
        matches!(self, Self::Log | Self::Record)
    }
}

/// Decodes a value and encodes it again. Returns `None` if the bytes are not a value.
pub fn rewritten(form: ValueEncoding, bytes: &[u8]) -> Option<Vec<u8>> {
    match form {
        ValueEncoding::Account => {
            let account = value::decode_account(bytes).ok()?;
            Some(value::encode_account(account.as_ref()))
        }
        ValueEncoding::Slot => Some(value::encode_slot(&value::decode_slot(bytes).ok()?)),
        ValueEncoding::Chunk => rewritten_chunk(bytes),
        ValueEncoding::Log => {
            let StoredLog { number, transaction, log } = StoredLog::decode(bytes)?;
            let mut out = Vec::new();
            encode_log(number, transaction, &log, &mut out);
            Some(out)
        }
        ValueEncoding::Receipt => Some(StoredReceipt::decode(bytes)?.encode()),
        ValueEncoding::Record => {
            let record: BlockRecord = all(bytes)?;
            Some(alloy_rlp::encode(record))
        }
        ValueEncoding::Step => Some(StoredStep::decode(bytes).ok()?.encode()),
        ValueEncoding::NodeKeys => Some(NodeKeys::decode(bytes)?.encode()),
    }
}

fn all<T: Decodable + Encodable>(bytes: &[u8]) -> Option<T> {
    alloy_rlp::decode_exact(bytes).ok()
}
