//! Entries of a record: the journal's records without the results of execution.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};
use foreseal_journal::{RawAppend, Record};
use foreseal_primitives::{Flashblock, Override, StepSignature, Transaction, read_signature};

/// A journal record without the receipts and state changes that its execution reproduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumEntry {
    /// Begins a new block.
    Open { header: Box<Header> },
    /// Adds a pre-confirmed step to the block in progress.
    Step(Box<StepOutline>),
    /// Adds a step without transactions: a state change by a development helper.
    Override { change: Override, step: Box<StepOutline> },
    /// Seals the block in progress in the state of its last step.
    Seal { number: u64, hash: B256 },
    /// Imports a complete external block, as the RLP that `BlockBytes` decodes.
    Import { block: Bytes },
    /// Sets the clock of a development chain, in milliseconds added to the wall clock.
    Clock { offset: i64 },
    /// Reverts the chain: this sealed block is the head again.
    Unwind { number: u64, hash: B256 },
    /// Sets the safe and finalized blocks.
    Finality { safe: u64, finalized: u64, trails: bool },
}

/// A pre-confirmed step without receipts and state changes. Its execution must produce `hash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutline {
    pub number: u64,
    /// Position among the steps of the block.
    pub index: u64,
    /// Hash of the previous step; the parent block's hash at index 0.
    pub previous: B256,
    pub header: Header,
    /// Hash of `header`, computed by the decoder.
    pub hash: B256,
    /// Build time by the wall clock of the builder: Unix time in milliseconds, 0 if unknown.
    pub time: u64,
    /// The sequencer's signature of this step; `None` if it is unsigned.
    pub signature: Option<StepSignature>,
    /// The transactions that this step adds.
    pub transactions: Vec<Arc<Transaction>>,
}

const STEP: u8 = 1;
const OVERRIDE: u8 = 2;
/// Any other record, encoded as in the journal.
const RECORD: u8 = 3;
/// Size of an entry's kind and length.
const ENTRY_HEADER: usize = 5;

#[derive(RlpDecodable)]
struct OutlineWire {
    number: u64,
    index: u64,
    previous: B256,
    header: Header,
    time: u64,
    /// Empty if the step is unsigned.
    signature: Bytes,
    transactions: Vec<SentTransaction>,
}

/// Encoding counterpart of [`OutlineWire`]. It borrows, because a step holds thousands of transactions.
#[derive(RlpEncodable)]
struct OutlineOut<'a> {
    number: u64,
    index: u64,
    previous: &'a B256,
    header: &'a Header,
    time: u64,
    signature: &'a [u8],
    transactions: Vec<SentTransactionOut<'a>>,
}

/// EIP-2718 bytes with their sender, so that a standby recovers no signatures.
#[derive(RlpDecodable)]
struct SentTransaction {
    sender: Address,
    encoded: Bytes,
}

#[derive(RlpEncodable)]
struct SentTransactionOut<'a> {
    sender: Address,
    encoded: &'a Bytes,
}

#[derive(RlpEncodable, RlpDecodable)]
struct OverrideOutline {
    change: Override,
    /// The encoded step.
    step: Bytes,
}

impl QuorumEntry {
    /// Returns the journal record with the inputs of execution: steps have no receipts and no state changes.
    pub fn into_inputs(self) -> Record {
        match self {
            Self::Open { header } => Record::Open { header },
            Self::Step(step) => Record::Step(Arc::new(step.into_inputs())),
            Self::Override { change, step } => {
                Record::Override { change, step: Arc::new(step.into_inputs()) }
            }
            Self::Seal { number, hash } => Record::Seal { number, hash },
            Self::Import { block } => Record::Import { block },
            Self::Clock { offset } => Record::Clock { offset },
            Self::Unwind { number, hash } => Record::Unwind { number, hash },
            Self::Finality { safe, finalized, trails } => Record::Finality { safe, finalized, trails },
        }
    }
}

impl StepOutline {
    fn into_inputs(self) -> Flashblock {
        Flashblock {
            number: self.number,
            index: self.index,
            previous: self.previous,
            header: self.header,
            hash: self.hash,
            time: self.time,
            signature: self.signature,
            transactions: self.transactions,
            receipts: Vec::new(),
            diff: Arc::default(),
            end_of_block_diff: Arc::default(),
        }
    }

    fn encode(step: &Flashblock) -> Vec<u8> {
        let transactions =
            step.transactions.iter().map(|t| SentTransactionOut { sender: t.sender(), encoded: t.encoded() });
        let out = OutlineOut {
            number: step.number,
            index: step.index,
            previous: &step.previous,
            header: &step.header,
            time: step.time,
            signature: step.signature.as_ref().map_or(&[][..], |signature| signature.as_slice()),
            transactions: transactions.collect(),
        };
        let mut bytes = Vec::with_capacity(out.length());
        out.encode(&mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let wire: OutlineWire = alloy_rlp::decode_exact(bytes)?;
        let transactions = wire.transactions.into_iter().map(|sent| {
            let envelope = Transaction::decode_envelope(&sent.encoded)
                .map_err(|_| alloy_rlp::Error::Custom("a transaction of a step does not decode"))?;
            Ok(Arc::new(Transaction::new(envelope, sent.sender)))
        });
        Ok(Self {
            transactions: transactions.collect::<alloy_rlp::Result<_>>()?,
            number: wire.number,
            index: wire.index,
            previous: wire.previous,
            hash: wire.header.hash_slow(),
            header: wire.header,
            time: wire.time,
            signature: read_signature(&wire.signature)?,
        })
    }
}

/// Appends the encoded entry of a record: kind, length of the content in four bytes, content.
pub(crate) fn encode_entry(record: &Record, out: &mut Vec<u8>) {
    let (kind, content) = match record {
        Record::Step(step) => (STEP, StepOutline::encode(step)),
        Record::Override { change, step } => {
            let outline = OverrideOutline { change: change.clone(), step: StepOutline::encode(step).into() };
            (OVERRIDE, alloy_rlp::encode(outline))
        }
        other => {
            let mut content = Vec::new();
            other.encode(&mut content);
            (RECORD, content)
        }
    };
    out.push(kind);
    // An append has less than 1 GiB of records.
    out.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&content);
}

/// Decodes one entry from the front of `input`.
pub(crate) fn decode_entry(input: &mut &[u8]) -> Result<QuorumEntry, String> {
    let (header, rest) = input.split_first_chunk::<ENTRY_HEADER>().ok_or("its kind or length is missing")?;
    let [kind, length @ ..] = *header;
    let length = u32::from_be_bytes(length);
    let (content, rest) = usize::try_from(length)
        .ok()
        .and_then(|length| rest.split_at_checked(length))
        .ok_or_else(|| format!("its length, {length}, exceeds the {} bytes that follow", rest.len()))?;
    *input = rest;
    match kind {
        STEP => {
            let step = StepOutline::decode(content).map_err(|e| e.to_string())?;
            Ok(QuorumEntry::Step(Box::new(step)))
        }
        OVERRIDE => {
            let outline: OverrideOutline = alloy_rlp::decode_exact(content).map_err(|e| e.to_string())?;
            let step = StepOutline::decode(&outline.step).map_err(|e| e.to_string())?;
            Ok(QuorumEntry::Override { change: outline.change, step: Box::new(step) })
        }
        RECORD => decode_record(content),
        _ => Err(format!("its kind, {kind}, is unknown")),
    }
}

fn decode_record(content: &[u8]) -> Result<QuorumEntry, String> {
    let raw = RawAppend { sequence: 0, hash: B256::ZERO, count: 1, records: content.to_vec() };
    let record = raw.decode().map_err(|e| e.reason)?.records.pop().ok_or("it is empty")?;
    Ok(match record {
        Record::Open { header } => QuorumEntry::Open { header },
        Record::Seal { number, hash } => QuorumEntry::Seal { number, hash },
        Record::Import { block } => QuorumEntry::Import { block },
        Record::Clock { offset } => QuorumEntry::Clock { offset },
        Record::Unwind { number, hash } => QuorumEntry::Unwind { number, hash },
        Record::Finality { safe, finalized, trails } => QuorumEntry::Finality { safe, finalized, trails },
        Record::Step(_) | Record::Override { .. } => {
            return Err("a step must be encoded as an outline".to_owned());
        }
    })
}
