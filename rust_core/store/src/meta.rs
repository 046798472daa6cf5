//! What the store says about itself: format, chain, progress.

use alloy_primitives::{B256, Bytes};
use heed::{RoTxn, RwTxn};

use crate::{Options, StoreError, table::Table, unwinds::Unwinds};

/// Version of the tables and of what is in them: what each adds is in `upgrade`.
pub const SCHEMA: u32 = 3;

const SCHEMA_KEY: &[u8] = b"schema";
const IDENTITY_KEY: &[u8] = b"identity";
const PROGRESS_KEY: &[u8] = b"progress";
const NOTE_KEY: &[u8] = b"note";
const ORIGINS_KEY: &[u8] = b"origins";
const UPGRADE_KEY: &[u8] = b"upgrade";
const UNWINDS_KEY: &[u8] = b"unwinds";

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

/// A program that made the store what it is: the one that created it, then each that upgraded it. A store that was created
/// before schema 2 does not say by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The schema that the store had from then on.
    pub schema: u32,
    /// Version of the program.
    pub program: String,
    /// Seconds since 1970.
    pub at: u64,
}

impl Origin {
    /// This program, at the time that `options` say.
    pub(crate) fn now(schema: u32, options: &Options) -> Self {
        Self { schema, program: env!("CARGO_PKG_VERSION").to_owned(), at: options.at }
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let length = u8::try_from(self.program.len()).expect("a version is short");
        bytes.extend_from_slice(&self.schema.to_be_bytes());
        bytes.extend_from_slice(&self.at.to_be_bytes());
        bytes.push(length);
        bytes.extend_from_slice(self.program.as_bytes());
    }

    /// The first one in `bytes`, and what follows it.
    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (schema, bytes) = bytes.split_first_chunk()?;
        let (at, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first()?;
        let (program, bytes) = bytes.split_at_checked(usize::from(*length))?;
        let program = String::from_utf8(program.to_vec()).ok()?;
        Some((Self { schema: u32::from_be_bytes(*schema), program, at: u64::from_be_bytes(*at) }, bytes))
    }
}

/// A step of an upgrade that is not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    pub to: u32,
    /// Where it goes on.
    pub place: Vec<u8>,
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
    write_origins(meta, txn, &[Origin::now(SCHEMA, options)])?;
    write(meta, txn, &Progress::NEW)
}

/// The version that the store has; that of before an upgrade that has begun.
pub(crate) fn schema(meta: &Table, txn: &RoTxn<'_>) -> Result<u32, StoreError> {
    let written = written_schema(meta, txn)?;
    Ok(begun(meta, txn)?.map_or(written, |begun| begun.to.saturating_sub(1)))
}

/// The version that a program needs to know to write the store.
fn written_schema(meta: &Table, txn: &RoTxn<'_>) -> Result<u32, StoreError> {
    let damaged = |why| meta.damaged(SCHEMA_KEY, why);
    let schema = meta.get(txn, SCHEMA_KEY)?.ok_or_else(|| damaged("it is missing"))?;
    match u32::from_be_bytes(schema.try_into().map_err(|_| damaged("it does not have 4 bytes"))?) {
        0 => Err(damaged("there is no schema 0")),
        schema => Ok(schema),
    }
}

/// The programs that made the store what it is, oldest first.
pub(crate) fn origins(meta: &Table, txn: &RoTxn<'_>) -> Result<Vec<Origin>, StoreError> {
    let stored = unsealed_any(meta, txn, ORIGINS_KEY)?.unwrap_or_default();
    let (mut rest, mut origins) = (stored, Vec::new());
    while !rest.is_empty() {
        let damaged = || meta.damaged(ORIGINS_KEY, "it is not a list of programs");
        let (origin, after) = Origin::decode(rest).ok_or_else(damaged)?;
        origins.push(origin);
        rest = after;
    }
    Ok(origins)
}

fn write_origins(meta: &Table, txn: &mut RwTxn<'_>, origins: &[Origin]) -> Result<(), StoreError> {
    let mut bytes = Vec::new();
    for origin in origins {
        origin.encode(&mut bytes);
    }
    meta.put(txn, ORIGINS_KEY, &sealed(&bytes))
}

/// The place where a step of an upgrade to schema `to` goes on; empty at first. What was begun by a program that did not record
/// the schema is begun again: an older program may have written the store since.
pub(crate) fn upgrade_place(meta: &Table, txn: &RoTxn<'_>, to: u32) -> Result<Vec<u8>, StoreError> {
    let recorded = written_schema(meta, txn)? == to;
    let begun = begun(meta, txn)?.filter(|begun| recorded && begun.to == to);
    Ok(begun.map(|begun| begun.place).unwrap_or_default())
}

/// The step of an upgrade that was begun.
pub(crate) fn begun(meta: &Table, txn: &RoTxn<'_>) -> Result<Option<Begun>, StoreError> {
    let Some(stored) = unsealed_any(meta, txn, UPGRADE_KEY)? else { return Ok(None) };
    let damaged = || meta.damaged(UPGRADE_KEY, "it is too short");
    let (to, place) = stored.split_first_chunk().ok_or_else(damaged)?;
    Ok(Some(Begun { to: u32::from_be_bytes(*to), place: place.to_vec() }))
}

/// Notes where a step of an upgrade goes on. From the first piece on, programs of the schema before refuse the store.
pub(crate) fn begin(meta: &Table, txn: &mut RwTxn<'_>, begun: &Begun) -> Result<(), StoreError> {
    meta.put(txn, SCHEMA_KEY, &begun.to.to_be_bytes())?;
    meta.put(txn, UPGRADE_KEY, &sealed(&[begun.to.to_be_bytes().as_slice(), &begun.place].concat()))
}

/// Ends a step of an upgrade: the store has the schema of `origin` now.
pub(crate) fn arrive(meta: &Table, txn: &mut RwTxn<'_>, origin: &Origin) -> Result<(), StoreError> {
    let mut origins = origins(meta, txn)?;
    origins.push(origin.clone());
    write_origins(meta, txn, &origins)?;
    meta.delete(txn, UPGRADE_KEY)?;
    meta.put(txn, SCHEMA_KEY, &origin.schema.to_be_bytes())
}

/// Refuses another chain, and what is newer than this program. An older schema is for the caller to upgrade.
pub(crate) fn check(meta: &Table, txn: &RoTxn<'_>, options: &Options) -> Result<(), StoreError> {
    let found = written_schema(meta, txn)?;
    if found > SCHEMA {
        return Err(StoreError::NewerSchema { found, supported: SCHEMA });
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
    Ok(Bytes::copy_from_slice(unsealed_any(meta, txn, NOTE_KEY)?.unwrap_or_default()))
}

/// An entry of any length, without its checksum; `None` if there is none.
fn unsealed_any<'t>(meta: &Table, txn: &'t RoTxn<'_>, key: &[u8]) -> Result<Option<&'t [u8]>, StoreError> {
    let damaged = |why| meta.damaged(key, why);
    let Some(stored) = meta.get(txn, key)? else { return Ok(None) };
    let (bytes, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| damaged("it is too short"))?;
    if *checksum != crc32c::crc32c(bytes).to_be_bytes() {
        return Err(damaged("its checksum does not fit"));
    }
    Ok(Some(bytes))
}

pub(crate) fn write_note(meta: &Table, txn: &mut RwTxn<'_>, note: &[u8]) -> Result<(), StoreError> {
    meta.put(txn, NOTE_KEY, &sealed(note))
}

/// The newest unwinds; a store that never went back has none.
pub(crate) fn unwinds(meta: &Table, txn: &RoTxn<'_>) -> Result<Unwinds, StoreError> {
    let Some(stored) = unsealed_any(meta, txn, UNWINDS_KEY)? else { return Ok(Unwinds::default()) };
    Unwinds::decode(stored).ok_or_else(|| meta.damaged(UNWINDS_KEY, "it does not hold whole entries"))
}

pub(crate) fn write_unwinds(meta: &Table, txn: &mut RwTxn<'_>, unwinds: &Unwinds) -> Result<(), StoreError> {
    meta.put(txn, UNWINDS_KEY, &sealed(&unwinds.encode()))
}
