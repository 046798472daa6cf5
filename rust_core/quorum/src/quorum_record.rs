//! Encoding of an append as the quorum store stores it.

use alloy_primitives::B256;
use foreseal_journal::Record;

use crate::quorum_entry::{QuorumEntry, decode_entry, encode_entry};

/// Version of the encoding.
const VERSION: u8 = 1;
/// Version (1 byte), length of the record (4), sequence (8), previous (32), hash (32), count of entries (4).
const HEADER_SIZE: usize = 81;
/// Minimum size of an entry in bytes.
const MIN_ENTRY_SIZE: usize = 5;

/// Position of an append in the hash chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLink {
    pub sequence: u64,
    /// Chain hash of the append before it.
    pub previous: B256,
    /// Chain hash of this append; [`chain_hash`](crate::chain_hash) of `previous` and the content hash. The
    /// content includes results of execution, so only an execution can verify it.
    pub hash: B256,
}

/// An append as the quorum store stores it: the inputs of execution, without its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumRecord {
    pub link: RecordLink,
    pub entries: Vec<QuorumEntry>,
}

/// Reasons why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumRecordError {
    #[error("record has {size} bytes, but its header has {HEADER_SIZE}")]
    Short { size: usize },
    #[error("record has version {version}, and this program reads version {VERSION}: upgrade the older one")]
    Version { version: u8 },
    #[error("record states a length of {stated} bytes, got {size}")]
    Length { stated: usize, size: usize },
    #[error("entry {index} of record {sequence} cannot be read: {reason}")]
    Entry { sequence: u64, index: usize, reason: String },
    #[error("record {sequence} has bytes after its last entry")]
    TrailingBytes { sequence: u64 },
}

impl QuorumRecord {
    /// Encodes the records of an append without receipts and state changes.
    pub fn encode(link: &RecordLink, records: &[Record]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_SIZE);
        out.push(VERSION);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&link.sequence.to_be_bytes());
        out.extend_from_slice(link.previous.as_slice());
        out.extend_from_slice(link.hash.as_slice());
        out.extend_from_slice(&u32::try_from(records.len()).unwrap_or(u32::MAX).to_be_bytes());
        for record in records {
            encode_entry(record, &mut out);
        }
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[1..5].copy_from_slice(&length.to_be_bytes());
        out
    }

    /// Returns the length that the header of a record states, from its first bytes.
    ///
    /// # Errors
    /// Returns an error if the header is incomplete or has another version.
    pub fn stated_length(bytes: &[u8]) -> Result<usize, QuorumRecordError> {
        let short = || QuorumRecordError::Short { size: bytes.len() };
        let [version, length @ ..] = *bytes.first_chunk::<5>().ok_or_else(short)?;
        if version != VERSION {
            return Err(QuorumRecordError::Version { version });
        }
        let stated = u32::from_be_bytes(length) as usize;
        if bytes.len() < HEADER_SIZE || stated < HEADER_SIZE { Err(short()) } else { Ok(stated) }
    }

    /// Decodes a record. No length in it is trusted.
    ///
    /// # Errors
    /// Returns the first fault of the input.
    pub fn decode(bytes: &[u8]) -> Result<Self, QuorumRecordError> {
        let stated = Self::stated_length(bytes)?;
        if stated != bytes.len() {
            return Err(QuorumRecordError::Length { stated, size: bytes.len() });
        }
        let mut input = &bytes[5..];
        let sequence = u64::from_be_bytes(Self::field(&mut input)?);
        let previous = B256::from(Self::field::<32>(&mut input)?);
        let hash = B256::from(Self::field::<32>(&mut input)?);
        let count = u32::from_be_bytes(Self::field(&mut input)?) as usize;
        // A count that claims more entries than the bytes can hold reserves no memory.
        let mut entries = Vec::with_capacity(count.min(input.len() / MIN_ENTRY_SIZE));
        for index in 0..count {
            let entry = decode_entry(&mut input).map_err(|reason| QuorumRecordError::Entry {
                sequence,
                index,
                reason,
            })?;
            entries.push(entry);
        }
        if !input.is_empty() {
            return Err(QuorumRecordError::TrailingBytes { sequence });
        }
        Ok(Self { link: RecordLink { sequence, previous, hash }, entries })
    }

    fn field<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], QuorumRecordError> {
        let (field, rest) =
            input.split_first_chunk::<N>().ok_or(QuorumRecordError::Short { size: input.len() })?;
        *input = rest;
        Ok(*field)
    }
}
