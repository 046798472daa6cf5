//! A test key that signs every kind of transaction.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip4844WithSidecar, TxEip7702, TxLegacy,
    transaction::RlpEcdsaEncodableTx,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::AccessList,
    eip4844::{BYTES_PER_BLOB, Blob},
    eip7594::{BlobTransactionSidecarEip7594, BlobTransactionSidecarVariant},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use foreseal_primitives::DEV_CHAIN_ID;
use k256::ecdsa::SigningKey;

/// A signing key of a test account.
#[derive(Clone, Debug)]
pub struct Wallet {
    key: SigningKey,
    /// Address of the account.
    pub address: Address,
}

/// Fees in wei per gas.
#[derive(Clone, Copy, Debug)]
pub struct Fees {
    pub max_fee: u128,
    pub tip: u128,
}

impl Default for Fees {
    fn default() -> Self {
        Self { max_fee: 10_000_000_000, tip: 1_000_000_000 }
    }
}

impl Wallet {
    /// Returns test key number `index`; always the same.
    pub fn numbered(index: u64) -> Self {
        let seed = keccak256([b"foreseal test key".as_slice(), &index.to_be_bytes()].concat());
        let key = SigningKey::from_bytes(&seed.0.into())
            .expect("a hash is a valid key, but for a chance of 2^-128");
        let public = key.verifying_key().to_encoded_point(false);
        let address = Address::from_raw_public_key(&public.as_bytes()[1..]);
        Self { key, address }
    }

    /// Returns the private key.
    pub fn secret(&self) -> B256 {
        B256::from_slice(&self.key.to_bytes())
    }

    /// Returns the first `count` test keys.
    pub fn some(count: u64) -> Vec<Self> {
        (0..count).map(Self::numbered).collect()
    }

    fn sign_hash(&self, hash: B256) -> Signature {
        let (signature, parity) =
            self.key.sign_prehash_recoverable(hash.as_slice()).expect("a 32-byte hash can be signed");
        Signature::from_bytes_and_parity(&signature.to_bytes(), parity.is_y_odd())
    }

    /// Signs any transaction; returns EIP-2718 bytes.
    pub fn sign<T>(&self, transaction: T) -> Bytes
    where
        T: SignableTransaction<Signature> + RlpEcdsaEncodableTx,
    {
        let signature = self.sign_hash(transaction.signature_hash());
        let mut out = Vec::new();
        transaction.into_signed(signature).eip2718_encode(&mut out);
        out.into()
    }

    /// Signs a legacy transaction with replay protection (EIP-155).
    pub fn legacy(&self, nonce: u64, to: TxKind, value: U256, gas: u64, input: Bytes, price: u128) -> Bytes {
        let chain_id = Some(DEV_CHAIN_ID);
        self.sign(TxLegacy { chain_id, nonce, gas_price: price, gas_limit: gas, to, value, input })
    }

    /// Signs an EIP-2930 transaction with an empty access list.
    pub fn eip2930(&self, nonce: u64, to: TxKind, value: U256, gas: u64, input: Bytes, price: u128) -> Bytes {
        self.sign(TxEip2930 {
            chain_id: DEV_CHAIN_ID,
            nonce,
            gas_price: price,
            gas_limit: gas,
            to,
            value,
            access_list: AccessList::default(),
            input,
        })
    }

    /// Signs an EIP-1559 transaction.
    pub fn eip1559(&self, nonce: u64, to: TxKind, value: U256, gas: u64, input: Bytes, fees: Fees) -> Bytes {
        self.sign(TxEip1559 {
            chain_id: DEV_CHAIN_ID,
            nonce,
            gas_limit: gas,
            max_fee_per_gas: fees.max_fee,
            max_priority_fee_per_gas: fees.tip,
            to,
            value,
            access_list: AccessList::default(),
            input,
        })
    }

    /// Signs a plain transfer of `value` wei.
    pub fn transfer(&self, nonce: u64, to: Address, value: u64, fees: Fees) -> Bytes {
        self.eip1559(nonce, to.into(), U256::from(value), 21_000, Bytes::new(), fees)
    }

    /// Signs a set-code transaction that delegates the account of `authority` to `target` (EIP-7702).
    pub fn set_code(&self, nonce: u64, authority: &Self, authority_nonce: u64, target: Address) -> Bytes {
        let authorization =
            Authorization { chain_id: U256::from(DEV_CHAIN_ID), address: target, nonce: authority_nonce };
        let signature = authority.sign_hash(authorization.signature_hash());
        let signed: SignedAuthorization = authorization.into_signed(signature);
        let fees = Fees::default();
        self.sign(TxEip7702 {
            chain_id: DEV_CHAIN_ID,
            nonce,
            gas_limit: 200_000,
            max_fee_per_gas: fees.max_fee,
            max_priority_fee_per_gas: fees.tip,
            to: authority.address,
            value: U256::ZERO,
            access_list: AccessList::default(),
            authorization_list: vec![signed],
            input: Bytes::new(),
        })
    }

    /// Signs a transaction with one blob, in its pooled form with cell proofs (EIP-7594).
    pub fn blob(&self, nonce: u64, to: Address, fill: u8) -> Bytes {
        let sidecar = blob_sidecar(fill);
        let fees = Fees::default();
        let transaction = TxEip4844 {
            chain_id: DEV_CHAIN_ID,
            nonce,
            gas_limit: 21_000,
            max_fee_per_gas: fees.max_fee,
            max_priority_fee_per_gas: fees.tip,
            to,
            value: U256::ZERO,
            access_list: AccessList::default(),
            blob_versioned_hashes: sidecar.versioned_hashes().collect(),
            max_fee_per_blob_gas: 1_000_000_000,
            input: Bytes::new(),
        };
        let sidecar = BlobTransactionSidecarVariant::Eip7594(sidecar);
        let signature = self.sign_hash(transaction.signature_hash());
        TxEip4844WithSidecar::from_tx_and_sidecar(transaction, sidecar)
            .into_signed(signature)
            .encoded_2718()
            .into()
    }
}

/// Returns a sidecar of one blob whose field elements are all `fill`. Takes some hundred milliseconds.
fn blob_sidecar(fill: u8) -> BlobTransactionSidecarEip7594 {
    let mut bytes = vec![0_u8; BYTES_PER_BLOB];
    for element in bytes.chunks_mut(32) {
        element[31] = fill;
    }
    let blob = Blob::from_slice(&bytes);
    BlobTransactionSidecarEip7594::try_from_blobs(vec![blob])
        .expect("field elements below the modulus make a blob")
}
