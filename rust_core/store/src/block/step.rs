//! The table of steps of a sealed block.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes};
use alloy_rlp::{RlpDecodable, RlpEncodable};
use foreseal_primitives::{StateDiff, StepSignature, read_signature};

use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// A step of a sealed block: enough to restore the block as of this step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredStep {
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    /// Number of the block's transactions that this step and those before it hold.
    pub transactions: u32,
    /// Length in bytes of the RLP of these transactions.
    pub transactions_length: u64,
    /// Build time as Unix time in milliseconds; 0 if unknown.
    pub time: u64,
    /// The sequencer's signature; `None` if the step is unsigned.
    pub signature: Option<StepSignature>,
    /// State writes of a development helper, if they are what the step
    /// consists of. No transaction produces them.
    pub written: Option<Arc<StateDiff>>,
}

/// Encoding of a step. The hash is omitted; decoding computes it from the header.
#[derive(RlpEncodable)]
struct StepOut<'a> {
    header: &'a Header,
    transactions: u32,
    transactions_length: u64,
    time: u64,
    /// Empty if the step is unsigned.
    signature: &'a [u8],
    /// Zero or one entry.
    written: Vec<&'a StateDiff>,
}

#[derive(RlpDecodable)]
struct StepWire {
    header: Header,
    transactions: u32,
    transactions_length: u64,
    time: u64,
    signature: Bytes,
    /// Zero or one entry.
    written: Vec<StateDiff>,
}

impl StoredStep {
    pub(crate) fn encode(&self) -> Vec<u8> {
        alloy_rlp::encode(StepOut {
            header: &self.header,
            transactions: self.transactions,
            transactions_length: self.transactions_length,
            time: self.time,
            signature: self.signature.as_ref().map_or(&[][..], |signature| signature.as_slice()),
            written: self.written.iter().map(AsRef::as_ref).collect(),
        })
    }

    pub(crate) fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let StepWire { header, transactions, transactions_length, time, signature, written } =
            alloy_rlp::decode_exact(bytes)?;
        let hash = header.hash_slow();
        let signature = read_signature(&signature)?;
        let written = written.into_iter().next().map(Arc::new);
        Ok(Self { header, hash, transactions, transactions_length, time, signature, written })
    }
}

impl ReadTransaction<'_> {
    /// Returns the block number and the index of the step with this hash.
    pub fn step_position(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        let table = &self.tables.step_hashes;
        let value = table.get(self.txn, hash.as_slice())?;
        value.map(|bytes| key::decode_position(table, hash.as_slice(), bytes)).transpose()
    }

    /// Returns one step of a block.
    pub fn step(&self, number: u64, index: u32) -> Result<Option<StoredStep>, StoreError> {
        let (table, key) = (&self.tables.steps, key::block_item(number, index));
        let Some(bytes) = table.get(self.txn, &key)? else { return Ok(None) };
        let step = StoredStep::decode(bytes).map_err(|_| table.damaged(&key, "the step does not decode"))?;
        Ok(Some(step))
    }

    /// Returns the `count` steps of a block.
    pub fn steps(&self, number: u64, count: u32) -> Result<Vec<StoredStep>, StoreError> {
        let table = &self.tables.steps;
        let decode = |(key, bytes): (&[u8], &[u8])| {
            StoredStep::decode(bytes).map_err(|_| table.damaged(key, "the step does not decode"))
        };
        self.list(table, number, count)?.into_iter().map(decode).collect()
    }
}
