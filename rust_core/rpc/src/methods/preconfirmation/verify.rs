//! Verification of a receipt, without a node.
//!
//! ```text
//!   transaction --proof--> header.transactionsRoot --keccak--> hash --EIP-712--> signature --> signer
//! ```

use alloy_consensus::{Header, Transaction as _};
use alloy_primitives::{Address, B256};
use alloy_rlp::Encodable;
use foreseal_keccak::keccak;
use foreseal_primitives::{CommitmentDomain, FlashblockCommitment, Transaction};
use foreseal_trie::verify_proof;
use serde::Serialize;

use super::{
    invalid_receipt::{InvalidReceipt, InvalidReceiptError},
    receipt::PreconfirmationReceipt,
};

/// Verified commitment: `signer` committed that block `number` of the chain will contain the transaction at
/// this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedPreconfirmation {
    pub chain_id: u64,
    pub number: u64,
    /// Index of the step in its block.
    pub index: u64,
    /// Block hash at this step.
    pub hash: B256,
    /// Hash of the previous step; the parent block's hash at index 0.
    pub previous: B256,
    /// Time at which the step was produced, in Unix milliseconds.
    pub time: u64,
    /// Timestamp of the block, in Unix seconds.
    pub timestamp: u64,
    pub transaction_hash: B256,
    pub transaction_index: u64,
    pub signer: Address,
}

impl PreconfirmationReceipt {
    /// Verifies that all parts of a receipt are consistent and, if given, match the expected signer and
    /// chain.
    ///
    /// Anyone can create a consistent receipt: without a trusted signer, it shows only who signed it.
    ///
    /// # Errors
    ///
    /// Returns the first inconsistent part.
    pub fn verify(
        &self,
        signer: Option<Address>,
        chain_id: Option<u64>,
    ) -> Result<VerifiedPreconfirmation, InvalidReceiptError> {
        if let Some(wanted) = chain_id.filter(|wanted| *wanted != self.chain_id) {
            return misfit(InvalidReceipt::ChainId, format!("it is {}, not {wanted}", self.chain_id));
        }
        let header = self.header()?;
        self.check_transaction(&header)?;
        self.check_signature()?;
        if let Some(wanted) = signer.filter(|wanted| *wanted != self.signer) {
            return misfit(InvalidReceipt::Signer, format!("{} has signed, not {wanted}", self.signer));
        }
        Ok(VerifiedPreconfirmation {
            chain_id: self.chain_id,
            number: self.number,
            index: self.index,
            hash: self.hash,
            previous: self.previous,
            time: self.time,
            timestamp: header.timestamp,
            transaction_hash: self.transaction_hash,
            transaction_index: self.transaction_index,
            signer: self.signer,
        })
    }

    fn header(&self) -> Result<Header, InvalidReceiptError> {
        let hash = keccak(&self.header);
        if hash != self.hash {
            return misfit(InvalidReceipt::Header, format!("its hash is {hash}"));
        }
        let header: Header = alloy_rlp::decode_exact(&self.header).map_err(|error| {
            InvalidReceiptError::new(InvalidReceipt::Header, format!("it is not a header: {error}"))
        })?;
        // Only the canonical encoding is valid; a different one that decodes may be an attack.
        if alloy_rlp::encode(&header) != self.header {
            return misfit(InvalidReceipt::Header, "it is not canonical RLP of a header");
        }
        if header.number != self.number {
            return misfit(InvalidReceipt::BlockNumber, format!("the header is of block {}", header.number));
        }
        if self.index == 0 && header.parent_hash != self.previous {
            return misfit(
                InvalidReceipt::Previous,
                format!("the first step follows block {}", header.parent_hash),
            );
        }
        Ok(header)
    }

    fn check_transaction(&self, header: &Header) -> Result<(), InvalidReceiptError> {
        let hash = keccak(&self.transaction);
        if hash != self.transaction_hash {
            return misfit(InvalidReceipt::Transaction, format!("its hash is {hash}"));
        }
        let envelope = Transaction::decode_envelope(&self.transaction)
            .map_err(|error| InvalidReceiptError::new(InvalidReceipt::Transaction, error.to_string()))?;
        if let Some(other) = envelope.chain_id().filter(|id| *id != self.chain_id) {
            return misfit(InvalidReceipt::Transaction, format!("it has chain id {other}"));
        }
        let mut key = Vec::with_capacity(9);
        self.transaction_index.encode(&mut key);
        match verify_proof(header.transactions_root, &key, &self.proof) {
            Ok(Some(proved)) if proved == self.transaction => Ok(()),
            Ok(Some(_)) => misfit(InvalidReceipt::Proof, "it proves another transaction at this index"),
            Ok(None) => misfit(InvalidReceipt::Proof, "the proof has no transaction at this index"),
            Err(error) => misfit(InvalidReceipt::Proof, error.to_string()),
        }
    }

    fn check_signature(&self) -> Result<(), InvalidReceiptError> {
        let Self { number, index, hash, previous, time, .. } = *self;
        let promise = FlashblockCommitment { number, index, hash, previous, time };
        match promise.signer(CommitmentDomain::new(self.chain_id), &self.signature) {
            Some(signer) if signer == self.signer => Ok(()),
            Some(other) => {
                misfit(InvalidReceipt::Signature, format!("it is not that of {} but of {other}", self.signer))
            }
            None => misfit(InvalidReceipt::Signature, "it is not a valid signature"),
        }
    }
}

fn misfit<T>(field: InvalidReceipt, why: impl Into<String>) -> Result<T, InvalidReceiptError> {
    Err(InvalidReceiptError::new(field, why))
}
