//! The first phase of admission: bytes to a checked transaction, without the lock and on all cores.

use std::sync::Arc;

use alloy_consensus::{
    EthereumTxEnvelope, Signed, Transaction as _, TxEip4844WithSidecar, transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip4844::c_kzg::{KzgSettings, ethereum_kzg_settings},
};
use foreseal_types::{Envelope, Transaction, TransactionError, mutant};
use rayon::prelude::*;

use crate::{PoolError, Rules, Sidecar, Submission, admission::Origin, rules::BLOB};

/// The pooled form: blob transactions carry their sidecar, of either version.
type PooledEnvelope = EthereumTxEnvelope<TxEip4844WithSidecar<Sidecar>>;

/// Decodes and checks one submission: EIP-2718 in its pooled form, every rule that needs no state, one signature
/// recovery (about 30 us) and, for blobs, their proofs (milliseconds).
pub fn decode_submission(raw: &[u8], rules: &Rules) -> Result<Submission, PoolError> {
    decode(raw, rules, Origin::Submitted)
}

/// Checks a transaction that nobody signed ([`Transaction::impersonated`]) by every rule that needs no state. Only a
/// development chain may let such a transaction in.
pub fn impersonated_submission(transaction: Transaction, rules: &Rules) -> Result<Submission, PoolError> {
    let (size, limit) = (transaction.encoded().len(), rules.max_bytes(transaction.kind()));
    if size > limit {
        return Err(PoolError::TooLarge { size, limit });
    }
    rules.check(transaction.envelope())?;
    Ok(Submission::checked(Arc::new(transaction)))
}

/// Decodes and checks submissions on all cores, keeping their order.
pub fn decode_many<T: AsRef<[u8]> + Sync>(raws: &[T], rules: &Rules) -> Vec<Result<Submission, PoolError>> {
    raws.par_iter().map(|raw| decode_submission(raw.as_ref(), rules)).collect()
}

/// What comes back from a saved pool may be without its sidecar, after an unwind, or without a signature, on a development
/// chain.
pub(crate) fn decode(raw: &[u8], rules: &Rules, origin: Origin) -> Result<Submission, PoolError> {
    let kind = raw.first().copied().unwrap_or(0);
    let (size, limit) = (raw.len(), rules.max_bytes(kind));
    if size > limit && !mutant!("skip-size-limit") {
        return Err(PoolError::TooLarge { size, limit });
    }
    let (envelope, sidecar) = decode_form(raw, origin)?;
    rules.check(&envelope)?;
    if origin == Origin::Returning && envelope.signature().s().is_zero() {
        let transaction = Transaction::trusted(envelope).map_err(|_| PoolError::Signature)?;
        return Ok(Submission::new(Arc::new(transaction), sidecar, size));
    }
    // Refuses a high `s` too (EIP-2).
    let sender = envelope.recover_signer().map_err(|_| PoolError::Signature)?;
    if let Some(sidecar) = &sidecar {
        verify(sidecar, envelope.blob_versioned_hashes().unwrap_or_default(), rules)?;
    }
    let transaction = Arc::new(Transaction::new(envelope, sender));
    Ok(Submission::new(transaction, sidecar, size))
}

/// The pooled form: envelope, and sidecar if there is one.
pub(crate) fn decode_form(raw: &[u8], origin: Origin) -> Result<(Envelope, Option<Sidecar>), PoolError> {
    if raw.first() == Some(&BLOB) { decode_blob(raw, origin) } else { Ok((decode_plain(raw)?, None)) }
}

fn decode_plain(raw: &[u8]) -> Result<Envelope, PoolError> {
    let envelope = Transaction::decode_envelope(raw).map_err(|error| match error {
        TransactionError::Decode(reason) => PoolError::Decode(reason),
        other => PoolError::Decode(other.to_string()),
    })?;
    canonical(&envelope, raw)?;
    Ok(envelope)
}

fn decode_blob(raw: &[u8], origin: Origin) -> Result<(Envelope, Option<Sidecar>), PoolError> {
    let mut rest = raw;
    let pooled = match PooledEnvelope::decode_2718(&mut rest) {
        Ok(pooled) => pooled,
        Err(error) => {
            // Worth a second look: a client that sends the block form should be told what is missing.
            let Ok(envelope) = decode_plain(raw) else { return Err(PoolError::Decode(error.to_string())) };
            return if origin == Origin::Returning {
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

/// One transaction has one encoding: the hash is taken over it, so any other would be a second name for the same bytes.
fn canonical(envelope: &impl Encodable2718, raw: &[u8]) -> Result<(), PoolError> {
    if envelope.encoded_2718() == raw {
        Ok(())
    } else {
        Err(PoolError::Decode("encoding is not canonical".to_owned()))
    }
}

/// Checks version, versioned hashes and proofs.
fn verify(sidecar: &Sidecar, hashes: &[alloy_primitives::B256], rules: &Rules) -> Result<(), PoolError> {
    let want = rules.sidecar_version();
    if u8::from(sidecar.is_eip7594()) != want {
        return Err(PoolError::SidecarVersion { want });
    }
    sidecar.validate(hashes, trusted_setup()).map_err(|error| PoolError::Sidecar(error.to_string()))
}

/// The trusted setup of the KZG ceremony, loaded at first use. Without precomputed tables, which only speed up
/// computing proofs: nothing here does.
fn trusted_setup() -> &'static KzgSettings {
    ethereum_kzg_settings(0)
}
