//! What the store says about itself: format, chain, progress.

use alloy_primitives::{B256, Bytes};
use heed::{RoTxn, RwTxn};

use crate::{Options, StoreError, table::Table};

/// Version of the tables and of what is in them.
pub const SCHEMA: u32 = 1;

const SCHEMA_KEY: &[u8] = b"schema";
const IDENTITY_KEY: &[u8] = b"identity";
const PROGRESS_KEY: &[u8] = b"progress";
const NOTE_KEY: &[u8] = b"note";

const IDENTITY_BYTES: usize = 8 + 32;
const PROGRESS_BYTES: usize = 9 + 32 + 8 * 5;

/// How far the store has come. Read in the same transaction as what is answered from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The newest block, `None` before genesis is written.
    pub head: Option<Head>,
    /// Sequence number of the journal up to which its records are in the store.
    pub journal_sequence: u64,
    /// How often blocks were unwound.
    pub generation: u64,
    /// Ordinal of the next log: how many there are.
    pub logs: u64,
    /// The first block whose state can be proved.
    pub proofs_from: u64,
    /// The first block whose steps are found by hash.
    pub steps_from: u64,
}

/// Number and hash of the newest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: u64,
    pub hash: B256,
}

impl Progress {
    const NEW: Self =
        Self { head: None, journal_sequence: 0, generation: 0, logs: 0, proofs_from: 0, steps_from: 0 };

    fn encode(&self) -> [u8; PROGRESS_BYTES] {
        let mut bytes = [0; PROGRESS_BYTES];
        if let Some(head) = self.head {
            bytes[0] = 1;
            bytes[1..9].copy_from_slice(&head.number.to_be_bytes());
            bytes[9..41].copy_from_slice(head.hash.as_slice());
        }
        let numbers = [self.journal_sequence, self.generation, self.logs, self.proofs_from, self.steps_from];
        for (place, number) in bytes[41..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; PROGRESS_BYTES]) -> Self {
        let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let head = Head { number: number(1), hash: B256::from_slice(&bytes[9..41]) };
        Self {
            head: (bytes[0] == 1).then_some(head),
            journal_sequence: number(41),
            generation: number(49),
            logs: number(57),
            proofs_from: number(65),
            steps_from: number(73),
        }
    }
}

/// Bytes with their checksum behind them.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32c::crc32c(bytes).to_be_bytes()].concat()
}

fn unsealed<'t, const N: usize>(
    meta: &Table,
    txn: &'t RoTxn<'_>,
    key: &[u8],
) -> Result<&'t [u8; N], StoreError> {
    let damaged = |why| meta.damaged(key, why);
    let stored = meta.get(txn, key)?.ok_or_else(|| damaged("it is missing"))?;
    let Some((bytes, checksum)) = stored.split_first_chunk::<N>() else {
        return Err(damaged("it is too short"));
    };
    if checksum != crc32c::crc32c(bytes).to_be_bytes() {
        return Err(damaged("its checksum does not fit"));
    }
    Ok(bytes)
}

/// Writes the entries of a store that has no block yet.
pub(crate) fn create(meta: &Table, txn: &mut RwTxn<'_>, options: &Options) -> Result<(), StoreError> {
    let identity = [options.chain_id.to_be_bytes().as_slice(), options.genesis.as_slice()].concat();
    meta.put(txn, SCHEMA_KEY, &SCHEMA.to_be_bytes())?;
    meta.put(txn, IDENTITY_KEY, &sealed(&identity))?;
    write(meta, txn, &Progress::NEW)
}

/// Refuses another schema or another chain.
pub(crate) fn check(meta: &Table, txn: &RoTxn<'_>, options: &Options) -> Result<(), StoreError> {
    let damaged = |why| meta.damaged(SCHEMA_KEY, why);
    let schema = meta.get(txn, SCHEMA_KEY)?.ok_or_else(|| damaged("it is missing"))?;
    let schema = u32::from_be_bytes(schema.try_into().map_err(|_| damaged("it does not have 4 bytes"))?);
    match schema {
        SCHEMA => {}
        0 => return Err(damaged("there is no schema 0")),
        found => return Err(StoreError::NewerSchema { found, supported: SCHEMA }),
    }
    let identity = unsealed::<IDENTITY_BYTES>(meta, txn, IDENTITY_KEY)?;
    let (chain_id, genesis) = identity.split_first_chunk().expect("an identity has 40 bytes");
    let (chain_id, genesis) = (u64::from_be_bytes(*chain_id), B256::from_slice(genesis));
    if chain_id != options.chain_id {
        return Err(StoreError::OtherChain { found: chain_id, expected: options.chain_id });
    }
    if genesis != options.genesis {
        return Err(StoreError::OtherGenesis { found: genesis, expected: options.genesis });
    }
    read(meta, txn).map(|_| ())
}

pub(crate) fn read(meta: &Table, txn: &RoTxn<'_>) -> Result<Progress, StoreError> {
    Ok(Progress::decode(unsealed::<PROGRESS_BYTES>(meta, txn, PROGRESS_KEY)?))
}

pub(crate) fn write(meta: &Table, txn: &mut RwTxn<'_>, progress: &Progress) -> Result<(), StoreError> {
    meta.put(txn, PROGRESS_KEY, &sealed(&progress.encode()))
}

/// What the writer left beside the newest block; empty before the first.
pub(crate) fn note(meta: &Table, txn: &RoTxn<'_>) -> Result<Bytes, StoreError> {
    let damaged = |why| meta.damaged(NOTE_KEY, why);
    let Some(stored) = meta.get(txn, NOTE_KEY)? else { return Ok(Bytes::new()) };
    let (note, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| damaged("it is too short"))?;
    if *checksum != crc32c::crc32c(note).to_be_bytes() {
        return Err(damaged("its checksum does not fit"));
    }
    Ok(Bytes::copy_from_slice(note))
}

pub(crate) fn write_note(meta: &Table, txn: &mut RwTxn<'_>, note: &[u8]) -> Result<(), StoreError> {
    meta.put(txn, NOTE_KEY, &sealed(note))
}
