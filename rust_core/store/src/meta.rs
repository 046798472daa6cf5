//! Metadata of the store: format, chain and progress.

use std::path::Path;

use alloy_primitives::{B256, Bytes};
use heed::{RoTxn, RwTxn};

use crate::{error::StoreError, options::StoreOptions, table::Table, unwind_log::UnwindLog};

/// Version of the tables and their content.
pub const SCHEMA: u32 = 1;

const SCHEMA_KEY: &[u8] = b"schema_version";
/// Key under which unreleased programs recorded a version of their own.
const UNRELEASED_KEY: &[u8] = b"schema";
const IDENTITY_KEY: &[u8] = b"identity";
const PROGRESS_KEY: &[u8] = b"progress";
const WRITER_METADATA_KEY: &[u8] = b"note";
const ORIGINS_KEY: &[u8] = b"origins";
const UNWINDS_KEY: &[u8] = b"unwinds";

const IDENTITY_BYTES: usize = 8 + 32;
const PROGRESS_BYTES: usize = 9 + 32 + 8 * 5;

/// Progress of the store. A read obtains it in the same transaction as the data that it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The newest block; `None` before genesis is written.
    pub head: Option<StoredHead>,
    /// Journal sequence number up to which its records are in the store.
    pub journal_sequence: u64,
    /// Number of times that blocks were unwound.
    pub generation: u64,
    /// Ordinal of the next log, which is the number of logs.
    pub logs: u64,
    /// First block whose state can be proved.
    pub proofs_from: u64,
    /// First block whose steps are indexed by hash.
    pub steps_from: u64,
}

/// The program that made the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOrigin {
    /// Schema version of the store.
    pub schema: u32,
    /// Version of the program.
    pub program: String,
    /// Unix time in seconds.
    pub at: u64,
}

impl StoreOrigin {
    /// Returns an entry for this program, at the time in `options`.
    pub(crate) fn now(schema: u32, options: &StoreOptions) -> Self {
        Self { schema, program: env!("CARGO_PKG_VERSION").to_owned(), at: options.at }
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let length = u8::try_from(self.program.len()).expect("a version is short");
        bytes.extend_from_slice(&self.schema.to_be_bytes());
        bytes.extend_from_slice(&self.at.to_be_bytes());
        bytes.push(length);
        bytes.extend_from_slice(self.program.as_bytes());
    }

    /// Decodes the first entry in `bytes`; also returns the remaining bytes.
    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (schema, bytes) = bytes.split_first_chunk()?;
        let (at, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first()?;
        let (program, bytes) = bytes.split_at_checked(usize::from(*length))?;
        let program = String::from_utf8(program.to_vec()).ok()?;
        Some((Self { schema: u32::from_be_bytes(*schema), program, at: u64::from_be_bytes(*at) }, bytes))
    }
}

/// Number and hash of the newest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredHead {
    pub number: u64,
    pub hash: B256,
}

impl Progress {
    const INITIAL: Self =
        Self { head: None, journal_sequence: 0, generation: 0, logs: 0, proofs_from: 0, steps_from: 0 };

    fn encode(&self) -> [u8; PROGRESS_BYTES] {
        let mut bytes = [0; PROGRESS_BYTES];
        if let Some(head) = self.head {
            bytes[0] = 1;
            bytes[1..9].copy_from_slice(&head.number.to_be_bytes());
            bytes[9..41].copy_from_slice(head.hash.as_slice());
        }
        let numbers = [self.journal_sequence, self.generation, self.logs, self.proofs_from, self.steps_from];
        for (position, number) in bytes[41..].chunks_exact_mut(8).zip(numbers) {
            position.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; PROGRESS_BYTES]) -> Self {
        let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let head = StoredHead { number: number(1), hash: B256::from_slice(&bytes[9..41]) };
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

/// Returns the bytes followed by their checksum.
fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32c::crc32c(bytes).to_be_bytes()].concat()
}

fn read_checked<'t, const N: usize>(
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
        return Err(damaged("the checksum does not match"));
    }
    Ok(bytes)
}

/// Writes the entries of a store without blocks.
pub(crate) fn create(meta: &Table, txn: &mut RwTxn<'_>, options: &StoreOptions) -> Result<(), StoreError> {
    let identity = [options.chain_id.to_be_bytes().as_slice(), options.genesis.as_slice()].concat();
    meta.put(txn, SCHEMA_KEY, &SCHEMA.to_be_bytes())?;
    meta.put(txn, IDENTITY_KEY, &with_checksum(&identity))?;
    write_origins(meta, txn, &[StoreOrigin::now(SCHEMA, options)])?;
    write(meta, txn, &Progress::INITIAL)
}

/// Returns the schema version of the store.
fn schema(meta: &Table, txn: &RoTxn<'_>) -> Result<u32, StoreError> {
    let damaged = |why| meta.damaged(SCHEMA_KEY, why);
    let schema = meta.get(txn, SCHEMA_KEY)?.ok_or_else(|| damaged("it is missing"))?;
    match u32::from_be_bytes(schema.try_into().map_err(|_| damaged("it does not have 4 bytes"))?) {
        0 => Err(damaged("schema 0 does not exist")),
        schema => Ok(schema),
    }
}

/// Returns the programs that made the store, oldest first.
pub(crate) fn origins(meta: &Table, txn: &RoTxn<'_>) -> Result<Vec<StoreOrigin>, StoreError> {
    let stored = read_checked_any_length(meta, txn, ORIGINS_KEY)?.unwrap_or_default();
    let (mut rest, mut origins) = (stored, Vec::new());
    while !rest.is_empty() {
        let damaged = || meta.damaged(ORIGINS_KEY, "it is not a list of programs");
        let (origin, after) = StoreOrigin::decode(rest).ok_or_else(damaged)?;
        origins.push(origin);
        rest = after;
    }
    Ok(origins)
}

fn write_origins(meta: &Table, txn: &mut RwTxn<'_>, origins: &[StoreOrigin]) -> Result<(), StoreError> {
    let mut bytes = Vec::new();
    for origin in origins {
        origin.encode(&mut bytes);
    }
    meta.put(txn, ORIGINS_KEY, &with_checksum(&bytes))
}

/// Rejects the store at `path` if it belongs to another chain, to an unreleased program or to a newer one.
pub(crate) fn check(
    path: &Path,
    meta: &Table,
    txn: &RoTxn<'_>,
    options: &StoreOptions,
) -> Result<(), StoreError> {
    if meta.get(txn, UNRELEASED_KEY)?.is_some() {
        return Err(StoreError::Unreleased { path: path.to_owned() });
    }
    let version = schema(meta, txn)?;
    if version > SCHEMA {
        return Err(StoreError::NewerSchema { version, supported: SCHEMA });
    }
    let identity = read_checked::<IDENTITY_BYTES>(meta, txn, IDENTITY_KEY)?;
    let (chain_id, genesis) = identity.split_first_chunk().expect("an identity has 40 bytes");
    let (chain_id, genesis) = (u64::from_be_bytes(*chain_id), B256::from_slice(genesis));
    if chain_id != options.chain_id {
        return Err(StoreError::OtherChain { chain_id, expected: options.chain_id });
    }
    if genesis != options.genesis {
        return Err(StoreError::OtherGenesis { genesis, expected: options.genesis });
    }
    read(meta, txn).map(|_| ())
}

pub(crate) fn read(meta: &Table, txn: &RoTxn<'_>) -> Result<Progress, StoreError> {
    Ok(Progress::decode(read_checked::<PROGRESS_BYTES>(meta, txn, PROGRESS_KEY)?))
}

pub(crate) fn write(meta: &Table, txn: &mut RwTxn<'_>, progress: &Progress) -> Result<(), StoreError> {
    meta.put(txn, PROGRESS_KEY, &with_checksum(&progress.encode()))
}

/// Returns the metadata that the writer stored with the newest block; empty before the first.
pub(crate) fn writer_metadata(meta: &Table, txn: &RoTxn<'_>) -> Result<Bytes, StoreError> {
    Ok(Bytes::copy_from_slice(read_checked_any_length(meta, txn, WRITER_METADATA_KEY)?.unwrap_or_default()))
}

/// Returns an entry of any length, without its checksum; `None` if it does not exist.
fn read_checked_any_length<'t>(
    meta: &Table,
    txn: &'t RoTxn<'_>,
    key: &[u8],
) -> Result<Option<&'t [u8]>, StoreError> {
    let damaged = |why| meta.damaged(key, why);
    let Some(stored) = meta.get(txn, key)? else { return Ok(None) };
    let (bytes, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| damaged("it is too short"))?;
    if *checksum != crc32c::crc32c(bytes).to_be_bytes() {
        return Err(damaged("the checksum does not match"));
    }
    Ok(Some(bytes))
}

pub(crate) fn write_writer_metadata(
    meta: &Table,
    txn: &mut RwTxn<'_>,
    metadata: &[u8],
) -> Result<(), StoreError> {
    meta.put(txn, WRITER_METADATA_KEY, &with_checksum(metadata))
}

/// Returns the newest unwinds; a store without unwinds has none.
pub(crate) fn unwinds(meta: &Table, txn: &RoTxn<'_>) -> Result<UnwindLog, StoreError> {
    let Some(stored) = read_checked_any_length(meta, txn, UNWINDS_KEY)? else {
        return Ok(UnwindLog::default());
    };
    UnwindLog::decode(stored).ok_or_else(|| meta.damaged(UNWINDS_KEY, "it has an incomplete entry"))
}

pub(crate) fn write_unwinds(
    meta: &Table,
    txn: &mut RwTxn<'_>,
    unwinds: &UnwindLog,
) -> Result<(), StoreError> {
    meta.put(txn, UNWINDS_KEY, &with_checksum(&unwinds.encode()))
}
