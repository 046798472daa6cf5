//! The published unit: one pre-confirmed step of the block being built.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, FixedBytes};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};

use crate::{Receipt, StateDiff, Transaction};

/// The sequencer's signature of a step: r, s, and v, which is 27 or 28.
pub type StepSignature = FixedBytes<65>;

/// A pre-confirmed step. Its header is the block's header as if it were sealed now.
#[derive(Clone, Debug)]
pub struct Flashblock {
    pub number: u64,
    /// Position among the steps of the block; 0 is the empty block, as opened.
    pub index: u64,
    /// Hash of the step before; the parent block's hash at index 0.
    pub previous: B256,
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    /// When it was made by the wall clock of who made it, unix time in milliseconds; 0 if that is not known. Header and hash do
    /// not depend on it.
    pub time: u64,
    /// The sequencer's word for this step; `None` if nobody signed it.
    pub signature: Option<StepSignature>,
    /// The transactions that this step adds.
    pub transactions: Vec<Arc<Transaction>>,
    /// One per transaction that this step adds.
    pub receipts: Vec<Arc<Receipt>>,
    /// What this step's transactions (at index 0: the opening system calls) change.
    pub diff: Arc<StateDiff>,
    /// What end-of-block processing changes on top; the next step does not build on it.
    pub tail: Arc<StateDiff>,
}

#[derive(RlpDecodable)]
#[rlp(trailing)]
struct FlashblockWire {
    number: u64,
    index: u64,
    previous: B256,
    header: Header,
    transactions: Vec<TransactionWire>,
    receipts: Vec<Receipt>,
    diff: StateDiff,
    tail: StateDiff,
    /// The two are missing in what older programs wrote.
    time: Option<u64>,
    signature: Option<Bytes>,
}

/// [`FlashblockWire`] on the way out: borrowed, because a step holds thousands of transactions.
#[derive(RlpEncodable)]
struct FlashblockOut<'a> {
    number: u64,
    index: u64,
    previous: &'a B256,
    header: &'a Header,
    transactions: Vec<TransactionOut<'a>>,
    receipts: &'a Vec<Arc<Receipt>>,
    diff: &'a StateDiff,
    tail: &'a StateDiff,
    time: u64,
    /// Empty if there is none.
    signature: &'a [u8],
}

/// Bytes with the sender beside them: reading a journal must not cost a recovery per transaction.
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
    /// The bytes that journal and feed carry.
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
            tail: &self.tail,
            time: self.time,
            signature: self.signature.as_ref().map_or(&[][..], |signature| signature.as_slice()),
        };
        let mut bytes = Vec::with_capacity(out.length());
        out.encode(&mut bytes);
        bytes
    }

    /// Reads what [`Self::encode`] wrote. The hash is computed from the header, never trusted.
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
            time: wire.time.unwrap_or_default(),
            signature: read_signature(&wire.signature.unwrap_or_default())?,
            transactions,
            receipts: wire.receipts.into_iter().map(Arc::new).collect(),
            diff: Arc::new(wire.diff),
            tail: Arc::new(wire.tail),
        })
    }
}

/// A step's signature as it is stored: 65 bytes, or none where nobody signed.
pub fn read_signature(bytes: &[u8]) -> alloy_rlp::Result<Option<StepSignature>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let signature = StepSignature::try_from(bytes);
    signature.map(Some).map_err(|_| alloy_rlp::Error::Custom("a step's signature does not have 65 bytes"))
}
