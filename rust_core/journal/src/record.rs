//! Records: the content of an append.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes};
use alloy_rlp::{Decodable, Encodable, RlpDecodable, RlpEncodable};
use foreseal_primitives::{Flashblock, Override};

/// One change of the chain. The records together contain everything that replay needs.
#[derive(Clone, Debug)]
pub enum Record {
    /// Begins a new block. The header fields that execution fills are those of the block without
    /// transactions.
    Open { header: Box<Header> },
    /// Adds a pre-confirmed step to the block in progress.
    Step(Arc<Flashblock>),
    /// Seals the block in progress in the state of its last step.
    Seal { number: u64, hash: B256 },
    /// Imports a complete external block, as the RLP that `BlockBytes` decodes.
    Import { block: Bytes },
    /// Adds a step without transactions to the block in progress: a state change by a development helper.
    Override { change: Override, step: Arc<Flashblock> },
    /// Sets the clock of a development chain.
    Clock {
        /// Milliseconds added to the wall clock.
        offset: i64,
    },
    /// Reverts the chain: this sealed block is the head again, and no block is in progress.
    Unwind { number: u64, hash: B256 },
    /// Sets the safe and finalized blocks, from an external request or by a return to a snapshot.
    Finality {
        safe: u64,
        finalized: u64,
        /// `true` if both continue to follow the head at their configured depth.
        trails: bool,
    },
}

/// Effect of a record, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSummary {
    /// Adds a step to the block in progress, an override included. `bytes` is the size of the encoded step.
    Step {
        number: u64,
        index: u64,
        bytes: usize,
    },
    Seal,
    Import,
    /// Reverts to this block.
    Unwind {
        number: u64,
    },
    /// Neither adds nor removes blocks.
    Other,
}

const OPEN: u8 = 1;
const STEP: u8 = 2;
const SEAL: u8 = 3;
const IMPORT: u8 = 4;
const OVERRIDE: u8 = 5;
const CLOCK: u8 = 6;
const UNWIND: u8 = 7;
const FINALITY: u8 = 8;

#[derive(RlpEncodable, RlpDecodable)]
struct BlockWire {
    number: u64,
    hash: B256,
}

#[derive(RlpEncodable, RlpDecodable)]
struct OverrideWire {
    change: Override,
    /// The step as [`Flashblock::encode`] writes it.
    step: Bytes,
}

#[derive(RlpEncodable, RlpDecodable)]
struct ClockWire {
    /// Two's complement.
    offset: u64,
}

#[derive(RlpEncodable, RlpDecodable)]
struct FinalityWire {
    safe: u64,
    finalized: u64,
    trails: bool,
}

impl Record {
    /// Appends the encoded record: one byte for the kind, then one RLP item.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Open { header } => encode_tagged(OPEN, header, out),
            Self::Step(flashblock) => {
                out.push(STEP);
                out.extend_from_slice(&flashblock.encode());
            }
            Self::Seal { number, hash } => {
                encode_tagged(SEAL, &BlockWire { number: *number, hash: *hash }, out);
            }
            Self::Import { block } => encode_tagged(IMPORT, block, out),
            Self::Override { change, step } => {
                encode_tagged(
                    OVERRIDE,
                    &OverrideWire { change: change.clone(), step: step.encode().into() },
                    out,
                );
            }
            Self::Clock { offset } => {
                encode_tagged(CLOCK, &ClockWire { offset: offset.cast_unsigned() }, out);
            }
            Self::Unwind { number, hash } => {
                encode_tagged(UNWIND, &BlockWire { number: *number, hash: *hash }, out);
            }
            Self::Finality { safe, finalized, trails } => {
                let wire = FinalityWire { safe: *safe, finalized: *finalized, trails: *trails };
                encode_tagged(FINALITY, &wire, out);
            }
        }
    }

    /// Decodes one record from the front of `input`.
    fn decode(input: &mut &[u8]) -> Result<Self, String> {
        let (&kind, rest) = input.split_first().ok_or("it is empty")?;
        *input = rest;
        decode_kind(kind, input)
            .map_err(|e| e.to_string())?
            .ok_or_else(|| format!("its kind, {kind}, is unknown"))
    }
}

fn encode_tagged(kind: u8, value: &impl Encodable, out: &mut Vec<u8>) {
    out.push(kind);
    value.encode(out);
}

fn decode_kind(kind: u8, input: &mut &[u8]) -> alloy_rlp::Result<Option<Record>> {
    Ok(Some(match kind {
        OPEN => Record::Open { header: Box::new(Header::decode(input)?) },
        STEP => {
            let item = read_item(input)?;
            Record::Step(Arc::new(Flashblock::decode(item)?))
        }
        SEAL => {
            let BlockWire { number, hash } = BlockWire::decode(input)?;
            Record::Seal { number, hash }
        }
        IMPORT => Record::Import { block: Bytes::decode(input)? },
        OVERRIDE => {
            let OverrideWire { change, step } = OverrideWire::decode(input)?;
            Record::Override { change, step: Arc::new(Flashblock::decode(&step)?) }
        }
        CLOCK => Record::Clock { offset: ClockWire::decode(input)?.offset.cast_signed() },
        UNWIND => {
            let BlockWire { number, hash } = BlockWire::decode(input)?;
            Record::Unwind { number, hash }
        }
        FINALITY => {
            let FinalityWire { safe, finalized, trails } = FinalityWire::decode(input)?;
            Record::Finality { safe, finalized, trails }
        }
        _ => return Ok(None),
    }))
}

/// Splits off the RLP item at the front of `input`, including its header.
fn read_item<'a>(input: &mut &'a [u8]) -> alloy_rlp::Result<&'a [u8]> {
    let mut rest = *input;
    let header = alloy_rlp::Header::decode(&mut rest)?;
    let length = input.len() - rest.len() + header.payload_length;
    let (item, rest) = input.split_at_checked(length).ok_or(alloy_rlp::Error::InputTooShort)?;
    *input = rest;
    Ok(item)
}

/// Index of the record of an append that does not decode, and the reason.
pub type Malformed = (usize, String);

/// Appends the encoded records of an append to `out`.
pub fn encode_records(records: &[Record], out: &mut Vec<u8>) {
    for record in records {
        record.encode(out);
    }
}

/// Decodes the `count` records of an append. They must use all bytes of the input.
///
/// # Errors
/// Returns the index of the record that does not decode, and the reason.
pub fn decode_records(mut input: &[u8], count: u32) -> Result<Vec<Record>, Malformed> {
    // Every record has at least two bytes: a count that claims more reserves no memory.
    let mut records = Vec::with_capacity((count as usize).min(input.len() / 2));
    for index in 0..count as usize {
        records.push(Record::decode(&mut input).map_err(|reason| (index, reason))?);
    }
    if input.is_empty() { Ok(records) } else { Err((records.len(), "bytes follow the last record".into())) }
}

/// Returns the outlines of the `count` records of an append.
///
/// # Errors
/// Returns the index of the record that does not decode, and the reason.
pub fn summarize_records(mut input: &[u8], count: u32) -> Result<Vec<RecordSummary>, Malformed> {
    let mut outlines = Vec::with_capacity((count as usize).min(input.len() / 2));
    for index in 0..count as usize {
        let outline = summarize(&mut input).map_err(|error| (index, error.to_string()))?;
        outlines.push(outline);
    }
    Ok(outlines)
}

fn summarize(input: &mut &[u8]) -> alloy_rlp::Result<RecordSummary> {
    let (&kind, rest) = input.split_first().ok_or(alloy_rlp::Error::InputTooShort)?;
    *input = rest;
    let item = read_item(input)?;
    Ok(match kind {
        STEP => summarize_step(item)?,
        OVERRIDE => {
            let mut fields = alloy_rlp::Header::decode_bytes(&mut { item }, true)?;
            read_item(&mut fields)?;
            summarize_step(alloy_rlp::Header::decode_bytes(&mut fields, false)?)?
        }
        SEAL => RecordSummary::Seal,
        IMPORT => RecordSummary::Import,
        UNWIND => RecordSummary::Unwind { number: BlockWire::decode(&mut { item })?.number },
        _ => RecordSummary::Other,
    })
}

/// Returns the outline of a step as [`Flashblock::encode`] writes it: number and index come first.
fn summarize_step(step: &[u8]) -> alloy_rlp::Result<RecordSummary> {
    let mut fields = alloy_rlp::Header::decode_bytes(&mut { step }, true)?;
    let (number, index) = (u64::decode(&mut fields)?, u64::decode(&mut fields)?);
    Ok(RecordSummary::Step { number, index, bytes: step.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_describes_each_record() {
        let header = Header { number: 9, ..Header::default() };
        let step = Arc::new(Flashblock {
            number: 9,
            index: 300,
            previous: B256::ZERO,
            hash: header.hash_slow(),
            header: header.clone(),
            transactions: Vec::new(),
            receipts: Vec::new(),
            diff: Arc::default(),
            end_of_block_diff: Arc::default(),
            time: 7,
            signature: None,
        });
        let address = alloy_primitives::Address::ZERO;
        let change = Override { address, change: foreseal_primitives::Change::Nonce(1) };
        let records = [
            Record::Open { header: Box::new(header) },
            Record::Step(step.clone()),
            Record::Override { change, step: step.clone() },
            Record::Seal { number: 9, hash: step.hash },
            Record::Import { block: Bytes::from_static(b"block") },
            Record::Clock { offset: -5 },
            Record::Unwind { number: 4, hash: B256::ZERO },
            Record::Finality { safe: 1, finalized: 1, trails: false },
        ];
        let mut bytes = Vec::new();
        encode_records(&records, &mut bytes);
        let of_step = RecordSummary::Step { number: 9, index: 300, bytes: step.encode().len() };
        let expected = [
            RecordSummary::Other,
            of_step,
            of_step,
            RecordSummary::Seal,
            RecordSummary::Import,
            RecordSummary::Other,
            RecordSummary::Unwind { number: 4 },
            RecordSummary::Other,
        ];
        assert_eq!(summarize_records(&bytes, 8).unwrap(), expected);
        assert_eq!(summarize_records(&bytes, 9).unwrap_err().0, 8);
    }
}
