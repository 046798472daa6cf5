//! A signed transaction with its recovered sender.

use std::sync::Arc;

use alloy_consensus::{
    EthereumTxEnvelope, EthereumTypedTransaction, SignableTransaction, Transaction as _, TxEip4844,
    transaction::SignerRecoverable,
};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use rayon::prelude::*;

/// The signed envelope in the form of a block: every typed transaction, blobs without their sidecar.
pub type Envelope = EthereumTxEnvelope<TxEip4844>;

/// An unsigned transaction.
pub type Unsigned = EthereumTypedTransaction<TxEip4844>;

/// A transaction of a block. Hash, sender, EIP-2718 bytes and the EIP-7702 authorities are computed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    envelope: Envelope,
    sender: Address,
    encoded: Bytes,
    authorities: Vec<Option<Address>>,
}

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
    pub fn new(envelope: Envelope, sender: Address) -> Self {
        let encoded = envelope.encoded_2718().into();
        envelope.tx_hash(); // fills the envelope's hash cache
        let authorizations = envelope.authorization_list().unwrap_or_default();
        let authorities = authorizations.iter().map(|one| one.recover_authority().ok()).collect();
        Self { envelope, sender, encoded, authorities }
    }

    /// Returns an unsigned transaction of `sender`, which development nodes send
    /// for accounts whose key they do not have.
    ///
    /// In place of the signature, `r` is the sender and `s` is zero. That is not a valid signature, so these
    /// bytes are rejected wherever a sender is recovered. They still identify their sender, so that equal
    /// transactions of two senders have different hashes.
    pub fn impersonated(transaction: Unsigned, sender: Address) -> Self {
        let signature = Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false);
        Self::new(transaction.into_signed(signature).into(), sender)
    }

    /// Combines an envelope from a trusted source with its sender: the signer, or the
    /// address encoded by [`Self::impersonated`].
    pub fn trusted(envelope: Envelope) -> Result<Self, TransactionError> {
        let signature = envelope.signature();
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
        let signature = self.envelope.signature();
        signature.s().is_zero() && B256::from(signature.r()) == self.sender.into_word()
    }

    /// Decodes EIP-2718 bytes and recovers the sender (one signature recovery, about 30 us).
    pub fn decode(bytes: &[u8]) -> Result<Self, TransactionError> {
        Self::recover(Self::decode_envelope(bytes)?)
    }

    /// Recovers the sender. Signatures with a high `s` are accepted: Frontier blocks have them.
    pub fn recover(envelope: Envelope) -> Result<Self, TransactionError> {
        let sender = envelope.recover_signer_unchecked().map_err(|_| TransactionError::Signature)?;
        Ok(Self::new(envelope, sender))
    }

    /// Decodes EIP-2718 bytes and rejects trailing ones.
    pub fn decode_envelope(mut bytes: &[u8]) -> Result<Envelope, TransactionError> {
        let envelope =
            Envelope::decode_2718(&mut bytes).map_err(|e| TransactionError::Decode(e.to_string()))?;
        if bytes.is_empty() { Ok(envelope) } else { Err(TransactionError::TrailingBytes) }
    }

    /// Returns the signed envelope.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the recovered signer.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Returns the signer of each authorization (EIP-7702); `None` if its signature is invalid.
    pub fn authorities(&self) -> &[Option<Address>] {
        &self.authorities
    }

    /// Returns the transaction hash.
    pub fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }

    /// Returns the EIP-2718 bytes, the form that the transactions trie holds.
    pub fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// Returns the EIP-2718 type byte, 0 for a legacy transaction.
    pub fn kind(&self) -> u8 {
        self.envelope.tx_type() as u8
    }

    /// Returns the wei per gas that the sender pays under `base_fee` (EIP-1559).
    pub fn effective_gas_price(&self, base_fee: Option<u64>) -> u128 {
        self.envelope.effective_gas_price(base_fee)
    }
}

/// Recovers the senders of a block's transactions on all cores, preserving their order.
pub fn recover_all(envelopes: Vec<Envelope>) -> Result<Vec<Arc<Transaction>>, TransactionError> {
    envelopes.into_par_iter().map(|e| Transaction::recover(e).map(Arc::new)).collect()
}
