//! The first phase of admission: decodes and checks raw bytes, without the lock and on all cores.

use std::sync::Arc;

use alloy_consensus::{
    EthereumTxEnvelope, Signed, Transaction as _, TxEip4844WithSidecar, transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip4844::c_kzg::{KzgSettings, ethereum_kzg_settings},
};
use foreseal_primitives::{SignedEnvelope, Transaction, TransactionError, mutant};
use rayon::prelude::*;

use crate::{CheckedTransaction, PoolError, Rules, Sidecar, origin::Origin, rules::BLOB};

/// The pooled form: blob transactions include their sidecar, in either version.
type PooledEnvelope = EthereumTxEnvelope<TxEip4844WithSidecar<Sidecar>>;

/// Decodes and checks one submission.
///
/// This covers EIP-2718 in the pooled form, every stateless rule, one signature recovery (about 30 us) and,
/// for blobs, their proofs (milliseconds).
///
/// # Errors
///
/// Returns the error of the first check that fails.
pub fn decode_submission(raw: &[u8], rules: &Rules) -> Result<CheckedTransaction, PoolError> {
    decode(raw, rules, Origin::Submitted)
}

/// Checks an unsigned transaction ([`Transaction::impersonated`]) against every stateless rule.
///
/// Only a development chain may admit such a transaction.
///
/// # Errors
///
/// Returns the error of the first check that fails.
pub fn impersonated_submission(
    transaction: Transaction,
    rules: &Rules,
) -> Result<CheckedTransaction, PoolError> {
    let (size, limit) = (transaction.encoded().len(), rules.max_bytes(transaction.kind()));
    if size > limit {
        return Err(PoolError::TooLarge { size, limit });
    }
    // A deposit has no sender to impersonate.
    let envelope = transaction.envelope().signed().ok_or(PoolError::Signature)?;
    rules.check(envelope)?;
    Ok(CheckedTransaction::checked(Arc::new(transaction)))
}

/// Decodes and checks submissions on all cores. The results are in the order of the input.
pub fn decode_many<T: AsRef<[u8]> + Sync>(
    raws: &[T],
    rules: &Rules,
) -> Vec<Result<CheckedTransaction, PoolError>> {
    raws.par_iter().map(|raw| decode_submission(raw.as_ref(), rules)).collect()
}

/// Decodes and checks one transaction.
///
/// A returning one may lack its sidecar, after an unwind, or its signature, on a development chain.
pub(crate) fn decode(raw: &[u8], rules: &Rules, origin: Origin) -> Result<CheckedTransaction, PoolError> {
    let kind = raw.first().copied().unwrap_or(0);
    let (size, limit) = (raw.len(), rules.max_bytes(kind));
    if size > limit && !mutant!("skip-size-limit") {
        return Err(PoolError::TooLarge { size, limit });
    }
    rules.check_submitted(kind)?;
    let (envelope, sidecar) = decode_form(raw, origin)?;
    rules.check(&envelope)?;
    if origin == Origin::Reinjected && envelope.signature().s().is_zero() {
        let transaction = Transaction::trusted(envelope).map_err(|_| PoolError::Signature)?;
        return Ok(CheckedTransaction::new(Arc::new(transaction), sidecar, size));
    }
    // Recovery also rejects a high `s` (EIP-2).
    let sender = envelope.recover_signer().map_err(|_| PoolError::Signature)?;
    if let Some(sidecar) = &sidecar {
        verify(sidecar, envelope.blob_versioned_hashes().unwrap_or_default(), rules)?;
    }
    let transaction = Arc::new(Transaction::new(envelope, sender));
    if rules.is_optimism() {
        // Computed here, as admission needs it under the lock.
        transaction.data_size();
    }
    Ok(CheckedTransaction::new(transaction, sidecar, size))
}

/// Decodes the pooled form into the envelope and the sidecar, if it has one.
pub(crate) fn decode_form(
    raw: &[u8],
    origin: Origin,
) -> Result<(SignedEnvelope, Option<Sidecar>), PoolError> {
    if raw.first() == Some(&BLOB) { decode_blob(raw, origin) } else { Ok((decode_plain(raw)?, None)) }
}

fn decode_plain(raw: &[u8]) -> Result<SignedEnvelope, PoolError> {
    let envelope = Transaction::decode_signed(raw).map_err(|error| match error {
        TransactionError::Decode(reason) => PoolError::Decode(reason),
        other => PoolError::Decode(other.to_string()),
    })?;
    canonical(&envelope, raw)?;
    Ok(envelope)
}

fn decode_blob(raw: &[u8], origin: Origin) -> Result<(SignedEnvelope, Option<Sidecar>), PoolError> {
    let mut rest = raw;
    let pooled = match PooledEnvelope::decode_2718(&mut rest) {
        Ok(pooled) => pooled,
        Err(error) => {
            // Decode again as the block form, so that the error names the missing sidecar.
            let Ok(envelope) = decode_plain(raw) else { return Err(PoolError::Decode(error.to_string())) };
            return if origin == Origin::Reinjected {
                Ok((envelope, None))
            } else {
                Err(PoolError::MissingSidecar)
            };
        }
    };
    if !rest.is_empty() {
        return Err(PoolError::Decode(TransactionError::TrailingBytes.to_string()));
    }
    canonical(&pooled, raw)?;
    let PooledEnvelope::Eip4844(signed) = pooled else {
        return Err(PoolError::Decode("type byte and content differ".to_owned()));
    };
    let (with_sidecar, signature, hash) = signed.into_parts();
    let (transaction, sidecar) = with_sidecar.into_parts();
    Ok((Signed::new_unchecked(transaction, signature, hash).into(), Some(sidecar)))
}

/// Rejects an encoding that is not canonical.
///
/// The hash covers the encoding, so a second encoding would give the same transaction a second hash.
fn canonical(envelope: &impl Encodable2718, raw: &[u8]) -> Result<(), PoolError> {
    if envelope.encoded_2718() == raw {
        Ok(())
    } else {
        Err(PoolError::Decode("encoding is not canonical".to_owned()))
    }
}

/// Checks the version, the versioned hashes and the proofs.
fn verify(sidecar: &Sidecar, hashes: &[alloy_primitives::B256], rules: &Rules) -> Result<(), PoolError> {
    let want = rules.sidecar_version();
    if u8::from(sidecar.is_eip7594()) != want {
        return Err(PoolError::SidecarVersion { want });
    }
    sidecar.validate(hashes, trusted_setup()).map_err(|error| PoolError::Sidecar(error.to_string()))
}

/// Returns the trusted setup of the KZG ceremony, loaded at first use.
///
/// It has no precomputed tables: they only speed up the computation of proofs, and nothing here computes
/// proofs.
fn trusted_setup() -> &'static KzgSettings {
    ethereum_kzg_settings(0)
}
