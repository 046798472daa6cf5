//! Sealed blocks that the journal names, and their positions in it.

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use foreseal_journal::{Append, JournalError, JournalReader, Record};

/// A sealed block, and the journal position at which the chain ended with it.
#[derive(Clone, Copy, Debug)]
pub struct SealedPosition {
    pub number: u64,
    pub hash: B256,
    pub sequence: u64,
    /// Number of records of that append, up to and including the one that seals the block.
    pub records: usize,
}

/// Returns the sealed blocks of the chain that results from these appends, oldest first, as far back as the
/// appends reach; `None` if they name no block.
pub fn sealed_chain<E>(
    genesis: B256,
    appends: impl Iterator<Item = Result<Append, E>>,
) -> Result<Option<Vec<SealedPosition>>, E> {
    let mut chain: Vec<SealedPosition> = Vec::new();
    for append in appends {
        let Append { sequence, records } = append?;
        if sequence == 0 {
            chain.push(SealedPosition { number: 0, hash: genesis, sequence: 0, records: 0 });
        }
        for (at, record) in records.iter().enumerate() {
            if let Some((number, hash)) = sealed_by(record) {
                chain.truncate(chain.partition_point(|before| before.number < number));
                chain.push(SealedPosition { number, hash, sequence, records: at + 1 });
            }
        }
    }
    Ok((!chain.is_empty()).then_some(chain))
}

/// Returns the sealed blocks of the chain that results from the first `next` appends of a journal, like
/// [`sealed_chain`].
pub fn sealed_until(
    journal: &JournalReader,
    next: u64,
    genesis: B256,
) -> Result<Option<Vec<SealedPosition>>, JournalError> {
    let appends = journal.up_to(next).raw_appends(0)?;
    let appends = appends.map(|append| {
        let append = append?;
        // Records that cannot be decoded name no block.
        let records = append.decode().map(|append| append.records).unwrap_or_default();
        Ok::<_, JournalError>(Append { sequence: append.sequence, records })
    });
    sealed_chain(genesis, appends)
}

/// Returns number and hash of the newest sealed block after this record; `None` if the record does not
/// determine it.
pub fn sealed_by(record: &Record) -> Option<(u64, B256)> {
    match record {
        Record::Seal { number, hash } | Record::Unwind { number, hash } => Some((*number, *hash)),
        Record::Import { block } => {
            let mut bytes = block.as_ref();
            alloy_rlp::Header::decode(&mut bytes).ok()?;
            let header = Header::decode(&mut bytes).ok()?;
            Some((header.number, header.hash_slow()))
        }
        Record::Open { .. }
        | Record::Step(_)
        | Record::Override { .. }
        | Record::Clock { .. }
        | Record::Finality { .. } => None,
    }
}
