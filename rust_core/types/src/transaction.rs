//! A signed transaction with its sender known.

use std::sync::Arc;

use alloy_consensus::{
    EthereumTxEnvelope, EthereumTypedTransaction, SignableTransaction, Transaction as _, TxEip4844,
    transaction::SignerRecoverable,
};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use rayon::prelude::*;

/// The signed envelope as it stands in a block: every typed transaction, blobs without their sidecar.
pub type Envelope = EthereumTxEnvelope<TxEip4844>;

/// A transaction that is not signed yet.
pub type Unsigned = EthereumTypedTransaction<TxEip4844>;

/// A transaction as it stands in a block. Hash, sender, EIP-2718 bytes and the authorities of EIP-7702 are computed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    envelope: Envelope,
    sender: Address,
    encoded: Bytes,
    authorities: Vec<Option<Address>>,
}

/// Why bytes are not a transaction.
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
    /// Joins an envelope and its already recovered sender. Recovers the authorities, if any.
    pub fn new(envelope: Envelope, sender: Address) -> Self {
        let encoded = envelope.encoded_2718().into();
        envelope.tx_hash(); // fills the envelope's hash cache
        let authorizations = envelope.authorization_list().unwrap_or_default();
        let authorities = authorizations.iter().map(|one| one.recover_authority().ok()).collect();
        Self { envelope, sender, encoded, authorities }
    }

    /// A transaction of `sender` that nobody signed, as development nodes send for accounts whose key they do not have.
    ///
    /// Where the signature would be stand the sender as `r` and a zero `s`. That is no signature of anything, so such
    /// bytes are refused wherever a sender is recovered; yet they name their sender, so that equal transactions of
    /// two senders have two hashes.
    pub fn impersonated(transaction: Unsigned, sender: Address) -> Self {
        let signature = Signature::new(U256::from_be_slice(sender.as_slice()), U256::ZERO, false);
        Self::new(transaction.into_signed(signature).into(), sender)
    }

    /// Joins an envelope from a trusted source and its sender: the one that signed it, or the one named by
    /// [`Self::impersonated`].
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

    /// Whether nobody signed it: see [`Self::impersonated`].
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

    /// Decodes EIP-2718 bytes, all of them.
    pub fn decode_envelope(mut bytes: &[u8]) -> Result<Envelope, TransactionError> {
        let envelope =
            Envelope::decode_2718(&mut bytes).map_err(|e| TransactionError::Decode(e.to_string()))?;
        if bytes.is_empty() { Ok(envelope) } else { Err(TransactionError::TrailingBytes) }
    }

    /// The signed envelope.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The recovered signer.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Who signed each authorization (EIP-7702); `None` where the signature is invalid.
    pub fn authorities(&self) -> &[Option<Address>] {
        &self.authorities
    }

    /// The transaction hash.
    pub fn hash(&self) -> B256 {
        *self.envelope.tx_hash()
    }

    /// EIP-2718 bytes, the form that the transactions trie holds.
    pub fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The EIP-2718 type byte, 0 for legacy.
    pub fn kind(&self) -> u8 {
        self.envelope.tx_type() as u8
    }

    /// Wei per gas that the sender pays under `base_fee` (EIP-1559).
    pub fn effective_gas_price(&self, base_fee: Option<u64>) -> u128 {
        self.envelope.effective_gas_price(base_fee)
    }
}

/// Recovers the senders of a block's transactions on all cores, keeping their order.
pub fn recover_all(envelopes: Vec<Envelope>) -> Result<Vec<Arc<Transaction>>, TransactionError> {
    envelopes.into_par_iter().map(|e| Transaction::recover(e).map(Arc::new)).collect()
}
