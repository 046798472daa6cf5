//! A transaction with its sender.

use std::sync::{Arc, OnceLock};

use alloy_consensus::{SignableTransaction, Transaction as _, Typed2718, transaction::SignerRecoverable};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip2930::AccessListItem,
    eip7702::SignedAuthorization,
};
use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use rayon::prelude::*;

use crate::{
    compressed_size::estimated_size,
    envelope::{Envelope, SignedEnvelope, Unsigned},
};

/// A transaction of a block. Hash, sender, EIP-2718 bytes and the EIP-7702 authorities are computed once; the
/// authorities of a submission only at their first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    envelope: Envelope,
    sender: Address,
    encoded: Bytes,
    authorities: Derived<Vec<Option<Address>>>,
    data_size: Derived<u64>,
}

/// Cache of a value that the envelope determines. It does not take part in comparisons.
#[derive(Clone, Debug)]
struct Derived<T>(OnceLock<T>);

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Derived<T> {}

/// Reasons for which bytes are rejected as a transaction.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TransactionError {
    #[error("transaction is not valid EIP-2718: {0}")]
    Decode(String),
    #[error("transaction has bytes after its end")]
    TrailingBytes,
    #[error("transaction signature is invalid")]
    Signature,
}

impl Transaction {
    /// Combines an envelope with its already recovered sender. Recovers the authorities, if any.
    pub fn new(envelope: impl Into<Envelope>, sender: Address) -> Self {
        let transaction = Self::with_sender(envelope, sender);
        transaction.authorities();
        transaction
    }

    /// Combines an envelope with its already recovered sender. [`Self::authorities`] recovers the authorities: one
    /// signature recovery each.
    pub fn with_sender(envelope: impl Into<Envelope>, sender: Address) -> Self {
        let envelope = envelope.into();
        let encoded = envelope.encoded_2718().into();
        envelope.tx_hash(); // fills the envelope's hash cache
        Self { envelope, sender, encoded, authorities: Derived::default(), data_size: Derived::default() }
    }

    /// Combines an envelope with its sender and its authorities, which a trusted process has recovered. Returns
    /// `None` if the number of authorities is wrong.
    pub fn with_authorities(
        envelope: impl Into<Envelope>,
        sender: Address,
        authorities: Vec<Option<Address>>,
    ) -> Option<Self> {
        let transaction = Self::with_sender(envelope, sender);
        if transaction.authorizations() != authorities.len() {
            return None;
        }
        let authorities = Derived(OnceLock::from(authorities));
        Some(Self { authorities, ..transaction })
    }

    /// Returns an unsigned transaction of `sender`, which development nodes send
    /// for accounts whose key they do not have.
    ///
    /// In place of the signature, `r` is the sender and `s` is zero. That is not a valid signature, so these
    /// bytes are rejected wherever a sender is recovered. They still identify their sender, so that equal
    /// transactions of two senders have different hashes.
    pub fn impersonated(transaction: Unsigned, sender: Address) -> Self {
        let signature = Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false);
        Self::new(SignedEnvelope::from(transaction.into_signed(signature)), sender)
    }

    /// Combines an envelope from a trusted source with its sender: the signer, the sender of a deposit, or the
    /// address encoded by [`Self::impersonated`].
    pub fn trusted(envelope: impl Into<Envelope>) -> Result<Self, TransactionError> {
        let envelope = envelope.into();
        let Some(signature) = envelope.signature() else { return Self::recover(envelope) };
        if !signature.s().is_zero() {
            return Self::recover(envelope);
        }
        let named = B256::from(signature.r());
        let sender = Address::from_word(named);
        if sender.into_word() == named {
            Ok(Self::new(envelope, sender))
        } else {
            Err(TransactionError::Signature)
        }
    }

    /// Returns `true` if the transaction is unsigned: see [`Self::impersonated`].
    pub fn is_impersonated(&self) -> bool {
        self.envelope.signature().is_some_and(|signature| {
            signature.s().is_zero() && B256::from(signature.r()) == self.sender.into_word()
        })
    }

    /// Decodes the EIP-2718 bytes of a signed transaction and recovers its sender (one signature recovery, about
    /// 30 us).
    pub fn decode(bytes: &[u8]) -> Result<Self, TransactionError> {
        Self::recover(Self::decode_signed(bytes)?)
    }

    /// Recovers the sender of a signed transaction, or reads that of a deposit. Signatures with a high `s` are
    /// accepted: Frontier blocks have them.
    pub fn recover(envelope: impl Into<Envelope>) -> Result<Self, TransactionError> {
        let envelope = envelope.into();
        let sender = match &envelope {
            Envelope::Signed(signed) => {
                signed.recover_signer_unchecked().map_err(|_| TransactionError::Signature)?
            }
            Envelope::Deposit(deposit) => deposit.from,
        };
        Ok(Self::new(envelope, sender))
    }

    /// Decodes the EIP-2718 bytes of a signed transaction and rejects trailing ones. A deposit is an error:
    /// only L1 can send one.
    pub fn decode_signed(bytes: &[u8]) -> Result<SignedEnvelope, TransactionError> {
        decode_all(bytes)
    }

    /// Decodes the EIP-2718 bytes of a transaction of a block, possibly a deposit, and rejects trailing ones.
    pub fn decode_envelope(bytes: &[u8]) -> Result<Envelope, TransactionError> {
        decode_all(bytes)
    }

    /// Returns the envelope.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the recovered signer, or the sender of a deposit.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Returns the signer of each authorization (EIP-7702); `None` if its signature is invalid.
    pub fn authorities(&self) -> &[Option<Address>] {
        self.authorities.0.get_or_init(|| {
            let authorizations = self.envelope.authorization_list().unwrap_or_default();
            authorizations.iter().map(|one| one.recover_authority().ok()).collect()
        })
    }

    /// Returns the number of authorizations (EIP-7702).
    pub fn authorizations(&self) -> usize {
        self.envelope.authorization_list().map_or(0, <[_]>::len)
    }

    /// Returns the transaction hash.
    pub fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }

    /// Returns the EIP-2718 bytes, the form that the transactions trie holds.
    pub fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// Returns the size of the transaction in memory with everything that it owns, in bytes.
    ///
    /// It is held decoded and as encoded bytes, and a decoded entry of a list is larger than an encoded one.
    pub fn memory_size(&self) -> usize {
        let envelope = &self.envelope;
        let entries = envelope.access_list().map_or(&[][..], |list| list);
        let keys = entries.iter().map(|entry| list_size::<B256>(entry.storage_keys.len())).sum::<usize>();
        let access_list = list_size::<AccessListItem>(entries.len()) + keys;
        let authorizations = list_size::<SignedAuthorization>(self.authorizations())
            + self.authorizations() * size_of::<Option<Address>>();
        let bytes = self.encoded.len() + envelope.input().len();
        size_of::<Self>() + bytes + access_list + authorizations
    }

    /// Returns the estimated size in bytes, scaled by 10^6, after the compression by the batcher of an OP chain. It
    /// is computed at the first call.
    pub fn data_size(&self) -> u64 {
        *self.data_size.0.get_or_init(|| estimated_size(&self.encoded))
    }

    /// Returns the EIP-2718 type byte, 0 for a legacy transaction.
    pub fn kind(&self) -> u8 {
        self.envelope.ty()
    }

    /// Returns the wei per gas that the sender pays under `base_fee` (EIP-1559).
    pub fn effective_gas_price(&self, base_fee: Option<u64>) -> u128 {
        self.envelope.effective_gas_price(base_fee)
    }
}

/// Returns the bytes of a decoded list, which grows by doubling.
fn list_size<T>(length: usize) -> usize {
    if length == 0 { 0 } else { length.next_power_of_two().max(4) * size_of::<T>() }
}

fn decode_all<T: Decodable2718>(mut bytes: &[u8]) -> Result<T, TransactionError> {
    let envelope = T::decode_2718(&mut bytes).map_err(|e| TransactionError::Decode(e.to_string()))?;
    if bytes.is_empty() { Ok(envelope) } else { Err(TransactionError::TrailingBytes) }
}

/// Recovers the senders of a block's transactions on all cores, preserving their order.
pub fn recover_all(envelopes: Vec<Envelope>) -> Result<Vec<Arc<Transaction>>, TransactionError> {
    envelopes.into_par_iter().map(|e| Transaction::recover(e).map(Arc::new)).collect()
}
