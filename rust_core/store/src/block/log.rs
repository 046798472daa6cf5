//! Logs by ordinal, their position among all logs of the chain.

use alloy_primitives::{Address, B256, Log, LogData};
use alloy_rlp::{Decodable, Encodable};

use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// A log with its position, so that an index hit costs one read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLog {
    /// The block's number.
    pub number: u64,
    /// Index of the transaction in its block.
    pub transaction: u32,
    pub log: Log,
}

/// Appends block, transaction, address, number of topics and topics; the rest is the data.
pub(crate) fn encode(number: u64, transaction: u32, log: &Log, out: &mut Vec<u8>) {
    number.encode(out);
    transaction.encode(out);
    out.extend_from_slice(log.address.as_slice());
    let topics = log.topics();
    out.push(u8::try_from(topics.len()).expect("a log has at most four topics"));
    out.extend(topics.iter().flatten());
    out.extend_from_slice(&log.data.data);
}

impl StoredLog {
    /// Decodes a log. Returns `None` if the bytes are not one.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let number = u64::decode(&mut bytes).ok()?;
        let transaction = u32::decode(&mut bytes).ok()?;
        let (address, rest) = bytes.split_first_chunk()?;
        let (&[count], mut rest) = rest.split_first_chunk()?;
        let mut topics = Vec::with_capacity(usize::from(count.min(4)));
        for _ in 0..count {
            let (topic, after) = rest.split_first_chunk()?;
            topics.push(B256::new(*topic));
            rest = after;
        }
        let data = LogData::new(topics, rest.to_vec().into())?;
        Some(Self { number, transaction, log: Log { address: Address::new(*address), data } })
    }
}

impl ReadTransaction<'_> {
    /// Returns the log with this ordinal.
    pub fn log(&self, ordinal: u64) -> Result<Option<StoredLog>, StoreError> {
        let (table, key) = (&self.tables.logs, key::number(ordinal));
        let Some(bytes) = table.get(self.txn, &key)? else { return Ok(None) };
        let damaged = || table.damaged(&key, "the log does not decode");
        Ok(Some(StoredLog::decode(bytes).ok_or_else(damaged)?))
    }

    /// Returns `count` logs, starting with the ordinal `first`; all of them must be stored.
    pub fn logs(&self, first: u64, count: u64) -> Result<Vec<StoredLog>, StoreError> {
        let table = &self.tables.logs;
        let end = first.saturating_add(count);
        let mut logs = Vec::new();
        let mut ordinal = first;
        for entry in table.range(self.txn, &key::number(first), &key::number(end))? {
            let (key, bytes) = entry?;
            if *key != key::number(ordinal) {
                break;
            }
            logs.push(StoredLog::decode(bytes).ok_or_else(|| table.damaged(key, "the log does not decode"))?);
            ordinal += 1;
        }
        if ordinal < end {
            return Err(table.damaged(&key::number(ordinal), "it is missing"));
        }
        Ok(logs)
    }
}
