//! Metadata that the store holds for the node.

use crate::{ChainMeta, Finality};
use alloy_primitives::Bytes;
use alloy_rlp::{RlpDecodable, RlpEncodable};

/// Journal position at which a block was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct JournalCheckpoint {
    pub number: u64,
    pub sequence: u64,
}

/// Metadata that the store holds for the node, written with its newest block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreMeta {
    pub beside: ChainMeta,
    /// Journal positions of blocks, oldest first.
    pub marks: Vec<JournalCheckpoint>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct StoreMetaWire {
    safe: u64,
    finalized: u64,
    trails: bool,
    /// Offset in two's complement.
    clock_offset: u64,
    marks: Vec<JournalCheckpoint>,
}

impl StoreMeta {
    pub fn encode(&self) -> Bytes {
        let Self { beside: ChainMeta { finality, clock_offset }, marks } = self;
        let wire = StoreMetaWire {
            safe: finality.safe,
            finalized: finality.finalized,
            trails: finality.trails,
            clock_offset: clock_offset.cast_unsigned(),
            marks: marks.clone(),
        };
        alloy_rlp::encode(wire).into()
    }

    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let wire: StoreMetaWire = alloy_rlp::decode_exact(bytes)?;
        let StoreMetaWire { safe, finalized, trails, clock_offset, marks } = wire;
        let finality = Finality { safe, finalized, trails };
        Ok(Self { beside: ChainMeta { finality, clock_offset: clock_offset.cast_signed() }, marks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let finality = Finality { safe: 5, finalized: 3, trails: false };
        let marks = vec![
            JournalCheckpoint { number: 1, sequence: 9 },
            JournalCheckpoint { number: 17, sequence: 90 },
        ];
        for clock_offset in [0, 7_000, -3] {
            let note = StoreMeta { beside: ChainMeta { finality, clock_offset }, marks: marks.clone() };
            assert_eq!(StoreMeta::decode(&note.encode()).unwrap(), note);
        }
        assert!(StoreMeta::decode(b"").is_err());
    }
}
