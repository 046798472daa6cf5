//! The pool as a file, so that a restart loses no accepted transaction.
//!
//! ```text
//!   file         "fsl-pool"  version u8  count u32  { length u32, transaction } * count  crc32c u32
//!   transaction  sender  authorities u32  { signer, zeros for an invalid signature } * authorities
//!                EIP-2718 bytes in the pooled form
//! ```
//!
//! Integers are little-endian. Transactions are in the order of arrival. The checksum covers everything before it.
//!
//! The file is the node's own. So signatures and proofs, which were verified once, are not verified again: a stranger's
//! lists of authorizations take seconds, and a start must not depend on them.

use std::ops::Deref;

use alloy_primitives::{Address, keccak256};
use rayon::prelude::*;

use crate::{
    admission::PendingHead, origin::Origin, pool::Pool, rules::Rules, status::Dropped,
    submission::decode_trusted, transaction::CheckedTransaction,
};

const MAGIC: &[u8; 8] = b"fsl-pool";
const VERSION: u8 = 2;
const HEADER: usize = MAGIC.len() + 1;
const CHECKSUM: usize = 4;
const LENGTH: usize = 4;

/// Reason why bytes are not a saved pool.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum RestoreError {
    #[error("not a saved transaction pool")]
    NotAPool,
    #[error("saved transaction pool has version {have}, this version of Foreseal reads {VERSION}")]
    Version { have: u8 },
    #[error("saved transaction pool is damaged: the checksum does not match")]
    Checksum,
    #[error("saved transaction pool is damaged: entry {entry} has an invalid length")]
    Length { entry: usize },
}

/// Result of restoring a saved pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Number of transactions that are in the pool again.
    pub added: usize,
    /// Transactions that are no longer admitted, or were evicted for others.
    pub dropped: Vec<Dropped>,
}

impl Pool {
    /// Encodes the whole pool, sidecars included, for [`Pool::restore`].
    pub fn save(&self) -> Vec<u8> {
        let all = self.all();
        let mut out = Vec::with_capacity(HEADER + CHECKSUM + all.iter().map(|t| t.size() + 4).sum::<usize>());
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        put_length(&mut out, all.len());
        for transaction in all {
            let (encoded, authorities) = (transaction.encoded(), transaction.transaction().authorities());
            put_length(&mut out, encoded.len() + Address::len_bytes() * (1 + authorities.len()) + LENGTH);
            out.extend_from_slice(transaction.sender().as_slice());
            put_length(&mut out, authorities.len());
            for signer in authorities {
                out.extend_from_slice(signer.unwrap_or_default().as_slice());
            }
            out.extend_from_slice(&encoded);
        }
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Adds a saved pool in its order of arrival.
    ///
    /// Every transaction is checked like a new submission, except that its signatures and proofs are trusted. The
    /// checks that need no state run on all cores. A transaction whose sender cannot pay waits, as it may have done
    /// before.
    ///
    /// # Errors
    ///
    /// Returns an error if `saved` is damaged or has another version.
    pub fn restore<H>(
        &self,
        saved: &[u8],
        rules: &Rules,
        head: impl Fn() -> H,
    ) -> Result<Restored, RestoreError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        let entries = entries(saved)?;
        let checked = |entry: &SavedTransaction<'_>| {
            decode_trusted(entry.encoded, entry.sender, entry.authorities(), rules)
        };
        let decoded: Vec<_> = entries.par_iter().map(checked).collect();
        let mut restored = Restored::default();
        for (entry, submission) in entries.into_iter().zip(decoded) {
            let hash =
                submission.as_ref().map_or_else(|_| keccak256(entry.encoded), CheckedTransaction::hash);
            match submission.and_then(|submission| self.admit(submission, Origin::Reinjected, &head)) {
                Ok(added) => {
                    restored.added += 1;
                    restored.dropped.extend(added.evicted);
                }
                Err(error) => restored.dropped.extend(self.record_rejected(hash, &error)),
            }
        }
        Ok(restored)
    }
}

/// A saved transaction.
struct SavedTransaction<'a> {
    sender: Address,
    authorities: &'a [u8],
    encoded: &'a [u8],
}

impl<'a> SavedTransaction<'a> {
    fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let sender = Address::from_slice(bytes.split_off(..Address::len_bytes())?);
        let count = read_length(&mut bytes)?;
        let authorities = bytes.split_off(..count.checked_mul(Address::len_bytes())?)?;
        Some(Self { sender, authorities, encoded: bytes })
    }

    fn authorities(&self) -> Vec<Option<Address>> {
        let signers = self.authorities.chunks_exact(Address::len_bytes()).map(Address::from_slice);
        signers.map(|signer| Some(signer).filter(|signer| !signer.is_zero())).collect()
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("the pool's limits are far below 2^32");
    out.extend_from_slice(&length.to_le_bytes());
}

/// Splits a saved pool into its transactions.
fn entries(saved: &[u8]) -> Result<Vec<SavedTransaction<'_>>, RestoreError> {
    let version = saved.strip_prefix(MAGIC).and_then(<[u8]>::first).ok_or(RestoreError::NotAPool)?;
    if *version != VERSION {
        return Err(RestoreError::Version { have: *version });
    }
    let (body, checksum) = saved.split_last_chunk::<CHECKSUM>().ok_or(RestoreError::Checksum)?;
    if body.len() < HEADER || crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
        return Err(RestoreError::Checksum);
    }
    let mut rest = &body[HEADER..];
    let count = read_length(&mut rest).ok_or(RestoreError::Length { entry: 0 })?;
    let mut entries = Vec::new();
    for entry in 0..count {
        let read = read_length(&mut rest)
            .and_then(|length| rest.split_off(..length))
            .and_then(SavedTransaction::read);
        entries.push(read.ok_or(RestoreError::Length { entry })?);
    }
    if rest.is_empty() { Ok(entries) } else { Err(RestoreError::Length { entry: count }) }
}

fn read_length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk::<LENGTH>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}
