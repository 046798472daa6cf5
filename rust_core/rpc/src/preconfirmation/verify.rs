//! Verification of a receipt, without a node.
//!
//! ```text
//!   transaction --proof--> header.transactionsRoot --keccak--> hash --EIP-712--> signature --> signer
//! ```

use alloy_consensus::{Header, Transaction as _};
use alloy_primitives::{Address, B256};
use alloy_rlp::Encodable;
use foreseal_keccak::keccak;
use foreseal_primitives::{FlashblockCommitment, PromiseDomain, Transaction, mutant};
use foreseal_trie::verify_proof;
use serde::Serialize;

use super::{Misfit, MisfitError, PreconfirmationReceipt};

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
    ) -> Result<VerifiedPreconfirmation, MisfitError> {
        if let Some(wanted) = chain_id.filter(|wanted| *wanted != self.chain_id) {
            return misfit(Misfit::ChainId, format!("it is {}, not {wanted}", self.chain_id));
        }
        let header = self.header()?;
        self.check_transaction(&header)?;
        self.check_signature()?;
        if let Some(wanted) = signer.filter(|wanted| *wanted != self.signer) {
            return misfit(Misfit::Signer, format!("{} has signed, not {wanted}", self.signer));
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

    fn header(&self) -> Result<Header, MisfitError> {
        let hash = keccak(&self.header);
        if hash != self.hash {
            return misfit(Misfit::Header, format!("its hash is {hash}"));
        }
        let header: Header = alloy_rlp::decode_exact(&self.header)
            .map_err(|error| MisfitError::new(Misfit::Header, format!("it is no header: {error}")))?;
        // Only the canonical encoding is valid; a different one that decodes may be an attack.
        if alloy_rlp::encode(&header) != self.header {
            return misfit(Misfit::Header, "it is not encoded as a header is");
        }
        if header.number != self.number {
            return misfit(Misfit::BlockNumber, format!("the header is of block {}", header.number));
        }
        if self.index == 0 && header.parent_hash != self.previous {
            return misfit(Misfit::Previous, format!("the first step follows block {}", header.parent_hash));
        }
        Ok(header)
    }

    fn check_transaction(&self, header: &Header) -> Result<(), MisfitError> {
        let hash = keccak(&self.transaction);
        if hash != self.transaction_hash {
            return misfit(Misfit::Transaction, format!("its hash is {hash}"));
        }
        let envelope = Transaction::decode_envelope(&self.transaction)
            .map_err(|error| MisfitError::new(Misfit::Transaction, error.to_string()))?;
        if let Some(other) = envelope.chain_id().filter(|id| *id != self.chain_id) {
            return misfit(Misfit::Transaction, format!("it is of chain {other}"));
        }
        let mut key = Vec::with_capacity(9);
        self.transaction_index.encode(&mut key);
        match verify_proof(header.transactions_root, &key, &self.proof) {
            Ok(Some(found)) if found == self.transaction => Ok(()),
            Ok(Some(_)) => misfit(Misfit::Proof, "it shows another transaction in this place"),
            Ok(None) => misfit(Misfit::Proof, "it shows that there is no transaction in this place"),
            Err(error) => misfit(Misfit::Proof, error.to_string()),
        }
    }

    fn check_signature(&self) -> Result<(), MisfitError> {
        let Self { number, index, hash, previous, time, .. } = *self;
        let promise = FlashblockCommitment { number, index, hash, previous, time };
        match promise.signer(PromiseDomain::of(self.chain_id), &self.signature) {
            Some(signer) if signer == self.signer || mutant!("accept-any-signer") => Ok(()),
            Some(other) => {
                misfit(Misfit::Signature, format!("it is not that of {} but of {other}", self.signer))
            }
            None => misfit(Misfit::Signature, "it is not a valid signature"),
        }
    }
}

fn misfit<T>(field: Misfit, why: impl Into<String>) -> Result<T, MisfitError> {
    Err(MisfitError::new(field, why))
}
