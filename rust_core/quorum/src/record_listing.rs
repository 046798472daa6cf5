//! List of the records in the quorum store.

use crate::{quorum_error::QuorumStoreError, quorum_log::QuorumLog, quorum_store::KeyRange};

/// Maximum number of keys of a read; an attempt must transfer them in time.
const MAX_KEYS: u32 = 4096;

/// A record with the number of its keys. The quorum store does not return the sizes of values without the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedRecord {
    pub(crate) sequence: u64,
    pub(crate) parts: u32,
}

impl QuorumLog {
    /// Lists the records below this sequence number in order.
    pub(crate) fn list_records(&self, end: u64) -> Result<Vec<ListedRecord>, QuorumStoreError> {
        let keys = &self.connection.keys;
        let (mut from, to) = (keys.first_record(), keys.record_part(end, 0));
        let mut records: Vec<ListedRecord> = Vec::new();
        loop {
            let range = KeyRange { from, to: to.clone(), limit: MAX_KEYS, keys_only: true };
            let entries = self.connection.range(range)?;
            for entry in &entries {
                let Some((sequence, _)) = keys.parse_record(&entry.key) else { continue };
                match records.last_mut() {
                    Some(last) if last.sequence == sequence => last.parts += 1,
                    _ => records.push(ListedRecord { sequence, parts: 1 }),
                }
            }
            match entries.last() {
                Some(last) if entries.len() >= MAX_KEYS as usize => from = format!("{}\0", last.key),
                _ => return Ok(records),
            }
        }
    }
}
