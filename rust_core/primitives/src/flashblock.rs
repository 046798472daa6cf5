//! The published unit: one pre-confirmed step of the block that is being built.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, FixedBytes};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};

use crate::{diff::StateDiff, receipt::Receipt, transaction::Transaction};

/// The sequencer's signature of a step: r, s and v, where v is 27 or 28.
pub type StepSignature = FixedBytes<65>;

/// A pre-confirmed step. Its header is the block's header as if the block were sealed at this step.
#[derive(Clone, Debug)]
pub struct Flashblock {
    pub number: u64,
    /// Position among the steps of the block; 0 is the newly opened, empty block.
    pub index: u64,
    /// Hash of the previous step; the parent block's hash at index 0.
    pub previous: B256,
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    /// Build time by the wall clock of the builder: Unix time in milliseconds, 0 if
    /// unknown. Header and hash do not depend on it.
    pub time: u64,
    /// The sequencer's signature of this step; `None` if it is unsigned.
    pub signature: Option<StepSignature>,
    /// The transactions that this step adds.
    pub transactions: Vec<Arc<Transaction>>,
    /// One per transaction that this step adds.
    pub receipts: Vec<Arc<Receipt>>,
    /// State changes of this step's transactions; at index 0, of the opening system calls.
    pub diff: Arc<StateDiff>,
    /// Further state changes of end-of-block processing; the next step does not build on them.
    pub end_of_block_diff: Arc<StateDiff>,
}

#[derive(RlpDecodable)]
struct FlashblockWire {
    number: u64,
    index: u64,
    previous: B256,
    header: Header,
    transactions: Vec<TransactionWire>,
    receipts: Vec<Receipt>,
    diff: StateDiff,
    end_of_block_diff: StateDiff,
    time: u64,
    /// Empty if the step is unsigned.
    signature: Bytes,
}

/// Encoding counterpart of [`FlashblockWire`]. It borrows, because a step holds thousands of transactions.
#[derive(RlpEncodable)]
struct FlashblockOut<'a> {
    number: u64,
    index: u64,
    previous: &'a B256,
    header: &'a Header,
    transactions: Vec<TransactionOut<'a>>,
    receipts: &'a Vec<Arc<Receipt>>,
    diff: &'a StateDiff,
    end_of_block_diff: &'a StateDiff,
    time: u64,
    /// Empty if the step is unsigned.
    signature: &'a [u8],
}

/// EIP-2718 bytes with their sender, so that reading a journal needs no signature recovery per transaction.
#[derive(RlpDecodable)]
struct TransactionWire {
    sender: Address,
    encoded: Bytes,
}

#[derive(RlpEncodable)]
struct TransactionOut<'a> {
    sender: Address,
    encoded: &'a Bytes,
}

impl Flashblock {
    /// Returns the encoding that the journal and the feed carry.
    pub fn encode(&self) -> Vec<u8> {
        let transactions =
            self.transactions.iter().map(|t| TransactionOut { sender: t.sender(), encoded: t.encoded() });
        let out = FlashblockOut {
            number: self.number,
            index: self.index,
            previous: &self.previous,
            header: &self.header,
            transactions: transactions.collect(),
            receipts: &self.receipts,
            diff: &self.diff,
            end_of_block_diff: &self.end_of_block_diff,
            time: self.time,
            signature: self.signature.as_ref().map_or(&[][..], |signature| signature.as_slice()),
        };
        let mut bytes = Vec::with_capacity(out.length());
        out.encode(&mut bytes);
        bytes
    }

    /// Decodes the output of [`Self::encode`]. The hash is computed from the header, never trusted.
    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let wire: FlashblockWire = alloy_rlp::decode_exact(bytes)?;
        let transactions = wire
            .transactions
            .into_iter()
            .map(|t| {
                let envelope = Transaction::decode_envelope(&t.encoded)
                    .map_err(|_| alloy_rlp::Error::Custom("flashblock transaction does not decode"))?;
                Ok(Arc::new(Transaction::new(envelope, t.sender)))
            })
            .collect::<alloy_rlp::Result<Vec<_>>>()?;
        Ok(Self {
            number: wire.number,
            index: wire.index,
            previous: wire.previous,
            hash: wire.header.hash_slow(),
            header: wire.header,
            time: wire.time,
            signature: read_signature(&wire.signature)?,
            transactions,
            receipts: wire.receipts.into_iter().map(Arc::new).collect(),
            diff: Arc::new(wire.diff),
            end_of_block_diff: Arc::new(wire.end_of_block_diff),
        })
    }
}

/// Reads the stored signature of a step: 65 bytes, or none if the step is unsigned.
pub fn read_signature(bytes: &[u8]) -> alloy_rlp::Result<Option<StepSignature>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let signature = StepSignature::try_from(bytes);
    signature.map(Some).map_err(|_| alloy_rlp::Error::Custom("a step's signature does not have 65 bytes"))
}
