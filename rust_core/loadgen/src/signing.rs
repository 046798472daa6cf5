//! Bulk signing of transactions ahead of a run, so that no measurement includes it.

use alloy_consensus::crypto::secp256k1::sign_message;
use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};

/// Error that prevents signing.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error("key: 32 bytes that are no private key of secp256k1")]
    Key,
    #[error("nonce: beyond 2^64 - 1")]
    Nonce,
}

/// Content of a transaction. `to` is `None` for a contract creation.
#[derive(Clone, Debug)]
pub struct TransferSpec {
    pub to: Option<Address>,
    pub value: U256,
    pub gas: u64,
    pub data: Bytes,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    /// EIP-2718 encoding, as sent to the node.
    pub raw: Vec<u8>,
    pub hash: B256,
}

/// Private key and common fields of its EIP-1559 transactions. Fees are in wei per gas.
#[derive(Clone, Debug)]
pub struct Signer {
    pub key: B256,
    pub chain_id: u64,
    pub max_fee: u128,
    pub tip: u128,
}

impl Signer {
    /// Signs the orders with consecutive nonces from `nonce`.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is invalid or a nonce would exceed 2^64 - 1.
    pub fn sign(&self, nonce: u64, orders: &[TransferSpec]) -> Result<Vec<SignedTransaction>, SigningError> {
        let signed = (nonce..).zip(orders).map(|(nonce, order)| {
            let transaction = TxEip1559 {
                chain_id: self.chain_id,
                nonce,
                gas_limit: order.gas,
                max_fee_per_gas: self.max_fee,
                max_priority_fee_per_gas: self.tip,
                to: order.to.map_or(TxKind::Create, TxKind::Call),
                value: order.value,
                access_list: alloy_eips::eip2930::AccessList::default(),
                input: order.data.clone(),
            };
            let hash = transaction.signature_hash();
            let signature = sign_message(self.key, hash).map_err(|_| SigningError::Key)?;
            let signed = transaction.into_signed(signature);
            Ok(SignedTransaction { raw: signed.encoded_2718(), hash: *signed.hash() })
        });
        if nonce.checked_add(orders.len() as u64).is_none() {
            return Err(SigningError::Nonce);
        }
        signed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_key_or_overflowing_nonce_is_rejected() {
        let order = TransferSpec { to: None, value: U256::ZERO, gas: 21_000, data: Bytes::new() };
        let signer = Signer { key: B256::ZERO, chain_id: 1, max_fee: 1, tip: 1 };
        assert!(matches!(signer.sign(0, std::slice::from_ref(&order)), Err(SigningError::Key)));
        let signer = Signer { key: B256::repeat_byte(1), ..signer };
        assert!(matches!(signer.sign(u64::MAX, &[order.clone(), order]), Err(SigningError::Nonce)));
    }
}
