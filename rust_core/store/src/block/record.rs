//! Entries of the table of headers: a block's hash, counts and header.

use std::ops::Range;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256};
use alloy_rlp::{Decodable, Encodable, Header as RlpHeader, RlpDecodable, RlpEncodable};

use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// A block without its lists.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct BlockRecord {
    pub header: Header,
    /// Number of transactions, and of receipts.
    pub transactions: u32,
    /// [`foreseal_primitives::Block::transactions_length`].
    pub transactions_length: u64,
    /// Number of steps in the block's step table.
    pub steps: u32,
    /// Ordinal of its first log; if it has none, of the chain's next log.
    pub first_log: u64,
    /// Number of logs.
    pub logs: u64,
    /// Sum of the difficulties up to this block.
    pub total_difficulty: U256,
}

/// Encodes an entry. The hash comes first, so that it can be read without the rest.
pub(super) fn encode(hash: &B256, record: &BlockRecord) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 + record.length());
    bytes.extend_from_slice(hash.as_slice());
    record.encode(&mut bytes);
    bytes
}

/// Decodes the ordinals of a record's logs and skips the other fields.
fn decode_logs(mut bytes: &[u8]) -> alloy_rlp::Result<Range<u64>> {
    let mut fields = RlpHeader::decode_bytes(&mut bytes, true)?;
    let header = RlpHeader::decode(&mut fields)?;
    fields = fields.get(header.payload_length..).ok_or(alloy_rlp::Error::InputTooShort)?;
    let (_transactions, _length, _steps) =
        (u32::decode(&mut fields)?, u64::decode(&mut fields)?, u32::decode(&mut fields)?);
    let (first, logs) = (u64::decode(&mut fields)?, u64::decode(&mut fields)?);
    Ok(first..first.saturating_add(logs))
}

impl ReadTransaction<'_> {
    /// Returns the hash of a stored block.
    pub fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        Ok(self.stored_record(number)?.map(|(hash, _)| hash))
    }

    /// Returns the hash and the record of a stored block.
    pub fn record(&self, number: u64) -> Result<Option<(B256, BlockRecord)>, StoreError> {
        let Some((hash, mut bytes)) = self.stored_record(number)? else { return Ok(None) };
        let damaged = |why| self.tables.headers.damaged(&key::number(number), why);
        let record = BlockRecord::decode(&mut bytes).map_err(|_| damaged("the record does not decode"))?;
        if !bytes.is_empty() {
            return Err(damaged("the record has bytes after its end"));
        }
        Ok(Some((hash, record)))
    }

    /// Returns the hash and the record of a block that must be stored.
    pub fn existing_record(&self, number: u64) -> Result<(B256, BlockRecord), StoreError> {
        let missing = || self.tables.headers.damaged(&key::number(number), "it is missing");
        self.record(number)?.ok_or_else(missing)
    }

    /// Returns the ordinals of the logs of a block that must be stored, without decoding its header.
    pub fn logs_of(&self, number: u64) -> Result<Range<u64>, StoreError> {
        let (headers, key) = (&self.tables.headers, key::number(number));
        let (_, bytes) = self.stored_record(number)?.ok_or_else(|| headers.damaged(&key, "it is missing"))?;
        let range = decode_logs(bytes).map_err(|_| headers.damaged(&key, "the record does not decode"))?;
        Ok(range)
    }

    fn stored_record(&self, number: u64) -> Result<Option<(B256, &[u8])>, StoreError> {
        let (headers, key) = (&self.tables.headers, key::number(number));
        let Some(bytes) = headers.get(self.txn, &key)? else { return Ok(None) };
        let Some((hash, rest)) = bytes.split_first_chunk() else {
            return Err(headers.damaged(&key, "the record is too short"));
        };
        Ok(Some((B256::new(*hash), rest)))
    }

    /// Returns the number of the block with this hash.
    pub fn number_of(&self, hash: &B256) -> Result<Option<u64>, StoreError> {
        let table = &self.tables.block_hashes;
        let value = table.get(self.txn, hash.as_slice())?;
        value.map(|bytes| key::read_number(table, hash.as_slice(), bytes)).transpose()
    }
}
