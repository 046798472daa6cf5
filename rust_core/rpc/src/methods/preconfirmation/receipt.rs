//! Receipt in the JSON format of `foreseal_preconfirmation`.

use std::borrow::Cow;

use alloy_primitives::{Address, B256, Bytes};
use foreseal_primitives::StepSignature;
use serde::Deserialize;

use super::invalid_receipt::{InvalidReceipt, InvalidReceiptError};
use crate::params::hex;

/// Parsed receipt that is not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreconfirmationReceipt {
    pub chain_id: u64,
    pub transaction_hash: B256,
    /// Index of the transaction in its block.
    pub transaction_index: u64,
    /// EIP-2718 encoding, as in the block.
    pub transaction: Bytes,
    pub number: u64,
    /// Index of the step in its block.
    pub index: u64,
    /// Block hash at this step.
    pub hash: B256,
    /// RLP of the step's header.
    pub header: Bytes,
    /// Hash of the previous step; the parent block's hash at index 0.
    pub previous: B256,
    /// Time at which the step was produced, in Unix milliseconds.
    pub time: u64,
    pub signature: StepSignature,
    /// Claimed signer.
    pub signer: Address,
    /// Nodes of the transactions trie from its root to the transaction.
    pub proof: Vec<Bytes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptFields<'a> {
    #[serde(borrow)]
    chain_id: Cow<'a, str>,
    #[serde(borrow)]
    transaction_hash: Cow<'a, str>,
    #[serde(borrow)]
    transaction_index: Cow<'a, str>,
    #[serde(borrow)]
    transaction: Cow<'a, str>,
    #[serde(borrow)]
    block_number: Cow<'a, str>,
    #[serde(borrow)]
    flashblock_index: Cow<'a, str>,
    #[serde(borrow)]
    hash: Cow<'a, str>,
    #[serde(borrow)]
    header: Cow<'a, str>,
    #[serde(borrow)]
    previous: Cow<'a, str>,
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    signature: Cow<'a, str>,
    #[serde(borrow)]
    signer: Cow<'a, str>,
    proof: Vec<String>,
}

impl PreconfirmationReceipt {
    /// Parses the JSON object. Unknown fields are ignored.
    ///
    /// # Errors
    ///
    /// Returns the name of the first invalid field.
    pub fn parse(json: &[u8]) -> Result<Self, InvalidReceiptError> {
        let malformed =
            |error: serde_json::Error| InvalidReceiptError::new(InvalidReceipt::Receipt, error.to_string());
        let fields: ReceiptFields<'_> = serde_json::from_slice(json).map_err(malformed)?;
        let nodes = fields.proof.iter().map(|node| data(InvalidReceipt::Proof, node));
        Ok(Self {
            chain_id: quantity(InvalidReceipt::ChainId, &fields.chain_id)?,
            transaction_hash: fixed(InvalidReceipt::TransactionHash, &fields.transaction_hash)?,
            transaction_index: quantity(InvalidReceipt::TransactionIndex, &fields.transaction_index)?,
            transaction: data(InvalidReceipt::Transaction, &fields.transaction)?,
            number: quantity(InvalidReceipt::BlockNumber, &fields.block_number)?,
            index: quantity(InvalidReceipt::FlashblockIndex, &fields.flashblock_index)?,
            hash: fixed(InvalidReceipt::Hash, &fields.hash)?,
            header: data(InvalidReceipt::Header, &fields.header)?,
            previous: fixed(InvalidReceipt::Previous, &fields.previous)?,
            time: quantity(InvalidReceipt::Time, &fields.time)?,
            signature: fixed(InvalidReceipt::Signature, &fields.signature)?,
            signer: Address(fixed(InvalidReceipt::Signer, &fields.signer)?),
            proof: nodes.collect::<Result<_, _>>()?,
        })
    }
}

fn quantity(field: InvalidReceipt, text: &str) -> Result<u64, InvalidReceiptError> {
    let value =
        hex::quantity(text, 64).map_err(|reason| InvalidReceiptError::new(field, reason.to_string()))?;
    Ok(value.to())
}

fn data(field: InvalidReceipt, text: &str) -> Result<Bytes, InvalidReceiptError> {
    hex::data(text).map_err(|reason| InvalidReceiptError::new(field, reason.to_string()))
}

fn fixed<const N: usize>(
    field: InvalidReceipt,
    text: &str,
) -> Result<alloy_primitives::FixedBytes<N>, InvalidReceiptError> {
    hex::fixed(text).map_err(|reason| InvalidReceiptError::new(field, reason.to_string()))
}
