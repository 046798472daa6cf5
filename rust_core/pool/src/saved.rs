//! The pool as a file, so that a restart loses no accepted transaction.
//!
//! ```text
//!   "fsl-pool"  version u8  count u32  { length u32, EIP-2718 bytes in the pooled form } * count  crc32c u32
//! ```
//!
//! Integers are little-endian. Transactions are in the order of arrival. The checksum covers everything
//! before it.

use std::ops::Deref;

use alloy_primitives::keccak256;
use rayon::prelude::*;

use crate::{CheckedTransaction, Dropped, PendingHead, Pool, Rules, origin::Origin, submission::decode};

const MAGIC: &[u8; 8] = b"fsl-pool";
const VERSION: u8 = 1;
const HEADER: usize = MAGIC.len() + 1;
const CHECKSUM: usize = 4;

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
            let encoded = transaction.encoded();
            put_length(&mut out, encoded.len());
            out.extend_from_slice(&encoded);
        }
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Adds a saved pool in its order of arrival.
    ///
    /// Every transaction is checked like a new submission, on all cores where the check needs no state. But a
    /// transaction whose sender cannot pay waits, as it may have done before.
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
        let checked = |raw: &&[u8]| decode(raw, rules, Origin::Reinjected)?.verify();
        let decoded: Vec<_> = entries.par_iter().map(checked).collect();
        let mut restored = Restored::default();
        for (raw, submission) in entries.into_iter().zip(decoded) {
            let hash = submission.as_ref().map_or_else(|_| keccak256(raw), CheckedTransaction::hash);
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

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("the pool's limits are far below 2^32");
    out.extend_from_slice(&length.to_le_bytes());
}

/// Splits a saved pool into its encoded transactions.
fn entries(saved: &[u8]) -> Result<Vec<&[u8]>, RestoreError> {
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
        let read = read_length(&mut rest).and_then(|length| rest.split_off(..length));
        entries.push(read.ok_or(RestoreError::Length { entry })?);
    }
    if rest.is_empty() { Ok(entries) } else { Err(RestoreError::Length { entry: count }) }
}

fn read_length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}
