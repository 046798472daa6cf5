//! Error for an invalid pre-confirmation receipt.

use std::fmt;

/// Invalid part of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReceipt {
    /// The whole input is not a receipt.
    Receipt,
    ChainId,
    TransactionHash,
    TransactionIndex,
    Transaction,
    BlockNumber,
    FlashblockIndex,
    Hash,
    Header,
    Previous,
    Time,
    Signature,
    Signer,
    Proof,
}

impl InvalidReceipt {
    /// Returns the name of the field; `receipt` for the whole input.
    pub fn name(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::ChainId => "chainId",
            Self::TransactionHash => "transactionHash",
            Self::TransactionIndex => "transactionIndex",
            Self::Transaction => "transaction",
            Self::BlockNumber => "blockNumber",
            Self::FlashblockIndex => "flashblockIndex",
            Self::Hash => "hash",
            Self::Header => "header",
            Self::Previous => "previous",
            Self::Time => "time",
            Self::Signature => "signature",
            Self::Signer => "signer",
            Self::Proof => "proof",
        }
    }
}

/// Error for an invalid receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidReceiptError {
    pub field: InvalidReceipt,
    pub why: String,
}

impl InvalidReceiptError {
    pub(super) fn new(field: InvalidReceipt, why: impl Into<String>) -> Self {
        Self { field, why: why.into() }
    }
}

impl fmt::Display for InvalidReceiptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field.name(), self.why)
    }
}

impl std::error::Error for InvalidReceiptError {}
