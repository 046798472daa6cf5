//! The first phase of admission: decodes and checks raw bytes, without the lock and on all cores.

use std::{sync::Arc, time::Duration};

use alloy_consensus::{
    EthereumTxEnvelope, Signed, Transaction as _, TxEip4844WithSidecar, transaction::SignerRecoverable,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip4844::c_kzg::{KzgSettings, ethereum_kzg_settings},
};
use alloy_primitives::{Address, B256};
use foreseal_primitives::{SignedEnvelope, Transaction, TransactionError};
use rayon::prelude::*;

use crate::{
    error::PoolError,
    origin::Origin,
    rules::{BLOB, Rules},
    transaction::{CheckedTransaction, Sidecar},
};

/// Estimated time in which one signature of an authorization is recovered.
const AUTHORIZATION_TIME: Duration = Duration::from_micros(100);
/// Estimated time in which the cell proofs of one blob are verified.
const CELL_PROOFS_TIME: Duration = Duration::from_millis(15);
/// Estimated time in which the cell proofs of one blob are computed.
const CELL_PROOFS_COMPUTATION_TIME: Duration = Duration::from_millis(200);
/// Estimated time in which the one proof of a blob is verified that a sidecar of version 0 has.
const BLOB_PROOF_TIME: Duration = Duration::from_millis(2);

/// The pooled form: blob transactions include their sidecar, in either version.
type PooledEnvelope = EthereumTxEnvelope<TxEip4844WithSidecar<Sidecar>>;

/// A submission that passed every stateless check except the slow ones, which are not done yet: the proofs of its
/// blobs and the signatures of its authorizations.
#[derive(Clone, Debug)]
pub struct UnverifiedTransaction {
    transaction: CheckedTransaction,
    proofs: SidecarProofs,
}

/// Proofs with which the pool stores a sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SidecarProofs {
    AsSubmitted,
    /// A sidecar of version 0 since Osaka: its cell proofs are computed (EIP-7594).
    Cells,
}

impl UnverifiedTransaction {
    /// Returns the transaction hash.
    pub fn hash(&self) -> B256 {
        self.transaction.hash()
    }

    /// Returns the sender.
    pub fn sender(&self) -> Address {
        self.transaction.sender()
    }

    /// Returns the nonce.
    pub fn nonce(&self) -> u64 {
        self.transaction.nonce()
    }

    /// Returns the estimated processor time of [`Self::verify`]; zero if there is nothing to verify.
    pub fn verification_time(&self) -> Duration {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let sidecar = self.transaction.sidecar().map_or(Duration::ZERO, |sidecar| match &**sidecar {
            Sidecar::Eip7594(sidecar) => CELL_PROOFS_TIME.saturating_mul(count(sidecar.blobs.len())),
            Sidecar::Eip4844(sidecar) => {
                let is_computed = self.proofs == SidecarProofs::Cells;
                let computation = if is_computed { CELL_PROOFS_COMPUTATION_TIME } else { Duration::ZERO };
                (BLOB_PROOF_TIME + computation).saturating_mul(count(sidecar.blobs.len()))
            }
        });
        let authorizations = count(self.transaction.transaction().authorizations());
        sidecar.saturating_add(AUTHORIZATION_TIME.saturating_mul(authorizations))
    }

    /// Returns the transaction for the checks that need the state.
    pub(crate) fn transaction(&self) -> &CheckedTransaction {
        &self.transaction
    }

    /// Verifies the proofs of the blobs, and recovers the signers of the authorizations. Computes cell proofs if the
    /// fork needs them and the sidecar has version 0.
    ///
    /// # Errors
    ///
    /// Returns an error if a proof or a versioned hash is wrong. An authorization with a wrong signature is valid: it
    /// has no effect.
    pub fn verify(self) -> Result<CheckedTransaction, PoolError> {
        let Self { mut transaction, proofs } = self;
        if let Some(sidecar) = transaction.sidecar() {
            let envelope = transaction.transaction().envelope();
            let hashes = envelope.blob_versioned_hashes().unwrap_or_default();
            let validated = sidecar.validate(hashes, trusted_setup());
            validated.map_err(|error| PoolError::Sidecar(error.to_string()))?;
            if proofs == SidecarProofs::Cells {
                let converted =
                    Sidecar::clone(sidecar).try_convert_into_eip7594_with_settings(trusted_setup());
                let converted = converted.map_err(|error| PoolError::Sidecar(error.to_string()))?;
                transaction = transaction.with_sidecar(converted);
            }
        }
        transaction.transaction().authorities();
        Ok(transaction)
    }
}

/// Decodes and checks one submission, and verifies it at once ([`UnverifiedTransaction::verify`]).
///
/// # Errors
///
/// Returns the error of the first check that fails.
pub fn decode_submission(raw: &[u8], rules: &Rules) -> Result<CheckedTransaction, PoolError> {
    decode_unverified(raw, rules)?.verify()
}

/// Decodes and checks one submission.
///
/// This covers EIP-2718 in the pooled form, every stateless rule and one signature recovery (about 30 us), but not
/// what takes milliseconds: the proofs of blobs and the signatures of authorizations.
///
/// # Errors
///
/// Returns the error of the first check that fails.
pub fn decode_unverified(raw: &[u8], rules: &Rules) -> Result<UnverifiedTransaction, PoolError> {
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
pub(crate) fn decode(raw: &[u8], rules: &Rules, origin: Origin) -> Result<UnverifiedTransaction, PoolError> {
    let (envelope, sidecar) = decode_checked(raw, rules, origin)?;
    if origin == Origin::Reinjected && envelope.signature().s().is_zero() {
        let transaction = Transaction::trusted(envelope).map_err(|_| PoolError::Signature)?;
        let transaction = CheckedTransaction::new(Arc::new(transaction), sidecar, raw.len());
        return Ok(UnverifiedTransaction { transaction, proofs: SidecarProofs::AsSubmitted });
    }
    rules.check_policy(&envelope)?;
    // Recovery also rejects a high `s` (EIP-2).
    let sender = envelope.recover_signer().map_err(|_| PoolError::Signature)?;
    let transaction = Transaction::with_sender(envelope, sender);
    let needs_cells = sidecar.as_ref().is_some_and(|sidecar| rules.needs_cell_proofs(sidecar));
    let proofs = if needs_cells { SidecarProofs::Cells } else { SidecarProofs::AsSubmitted };
    Ok(UnverifiedTransaction { transaction: checked(transaction, sidecar, raw.len(), rules), proofs })
}

/// Decodes and checks a transaction that this node has verified before, with its sender and its authorities.
pub(crate) fn decode_trusted(
    raw: &[u8],
    sender: Address,
    authorities: Vec<Option<Address>>,
    rules: &Rules,
) -> Result<CheckedTransaction, PoolError> {
    let (envelope, sidecar) = decode_checked(raw, rules, Origin::Reinjected)?;
    let transaction =
        Transaction::with_authorities(envelope, sender, authorities).ok_or(PoolError::Signature)?;
    if !transaction.is_impersonated() {
        let envelope = transaction.envelope().signed().ok_or(PoolError::Signature)?;
        rules.check_policy(envelope)?;
    }
    Ok(checked(transaction, sidecar, raw.len(), rules))
}

/// Decodes a transaction and checks it against every rule that needs neither state nor signatures.
fn decode_checked(
    raw: &[u8],
    rules: &Rules,
    origin: Origin,
) -> Result<(SignedEnvelope, Option<Sidecar>), PoolError> {
    let kind = raw.first().copied().unwrap_or(0);
    let (size, limit) = (raw.len(), rules.max_bytes(kind));
    if size > limit {
        return Err(PoolError::TooLarge { size, limit });
    }
    rules.check_submitted(kind)?;
    let (envelope, sidecar) = decode_form(raw, origin)?;
    rules.check(&envelope)?;
    if let Some(sidecar) = &sidecar
        && !(origin == Origin::Submitted && rules.needs_cell_proofs(sidecar))
    {
        rules.check_sidecar_version(sidecar)?;
    }
    Ok((envelope, sidecar))
}

fn checked(
    transaction: Transaction,
    sidecar: Option<Sidecar>,
    size: usize,
    rules: &Rules,
) -> CheckedTransaction {
    if rules.is_optimism() {
        // Computed here, as admission needs it under the lock.
        transaction.data_size();
    }
    CheckedTransaction::new(Arc::new(transaction), sidecar, size)
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

/// Loads the trusted setup of the KZG ceremony, which takes seconds, so that no submission waits for it.
pub fn load_trusted_setup() {
    trusted_setup();
}

/// Returns the trusted setup of the KZG ceremony, loaded at first use.
///
/// It has no precomputed tables: they only speed up the computation of proofs, which is rare here.
fn trusted_setup() -> &'static KzgSettings {
    ethereum_kzg_settings(0)
}
