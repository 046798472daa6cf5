//! The envelope of a transaction: signed, or a deposit of an OP chain.

use alloy_consensus::{
    EthereumTxEnvelope, EthereumTypedTransaction, Sealed, Signed, TransactionEnvelope, TxEip4844,
};
use alloy_primitives::{B256, Signature};
use op_alloy_consensus::TxDeposit;

/// A signed transaction in the form of a block: every type, blobs without their sidecar.
pub type SignedEnvelope = EthereumTxEnvelope<TxEip4844>;

/// An unsigned transaction.
pub type Unsigned = EthereumTypedTransaction<TxEip4844>;

/// A transaction in the form of a block.
#[derive(Clone, Debug, TransactionEnvelope)]
#[envelope(tx_type_name = EnvelopeType)]
pub enum Envelope {
    /// A signed transaction.
    #[envelope(flatten)]
    Signed(SignedEnvelope),
    /// A transaction that L1 orders: without signature, nonce and fee. Only OP chains have them.
    #[envelope(ty = 0x7e)]
    Deposit(Sealed<TxDeposit>),
}

impl Envelope {
    /// Returns the transaction hash, which is computed once.
    pub fn tx_hash(&self) -> &B256 {
        match self {
            Self::Signed(signed) => signed.tx_hash(),
            Self::Deposit(deposit) => deposit.hash_ref(),
        }
    }

    /// Returns the signed transaction; `None` for a deposit.
    pub fn signed(&self) -> Option<&SignedEnvelope> {
        match self {
            Self::Signed(signed) => Some(signed),
            Self::Deposit(_) => None,
        }
    }

    /// Returns the signature; `None` for a deposit.
    pub fn signature(&self) -> Option<&Signature> {
        self.signed().map(SignedEnvelope::signature)
    }

    /// Returns the deposit; `None` for a signed transaction.
    pub fn deposit(&self) -> Option<&TxDeposit> {
        match self {
            Self::Signed(_) => None,
            Self::Deposit(deposit) => Some(deposit.inner()),
        }
    }
}

impl From<SignedEnvelope> for Envelope {
    fn from(signed: SignedEnvelope) -> Self {
        Self::Signed(signed)
    }
}

impl<T> From<Signed<T>> for Envelope
where
    SignedEnvelope: From<Signed<T>>,
{
    fn from(signed: Signed<T>) -> Self {
        Self::Signed(signed.into())
    }
}

impl From<TxDeposit> for Envelope {
    fn from(deposit: TxDeposit) -> Self {
        Self::Deposit(Sealed::new(deposit))
    }
}
