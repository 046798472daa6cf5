//! Metadata that the store holds for the node.

use crate::{finality::Finality, store_update::ChainMeta};
use alloy_primitives::Bytes;
use alloy_rlp::{RlpDecodable, RlpEncodable};

/// Journal position at which a block was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct JournalCheckpoint {
    pub number: u64,
    pub sequence: u64,
}

/// The metadata of a store does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store's metadata does not decode")]
pub struct InvalidStoreMeta;

/// Metadata that the store holds for the node, written with its newest block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreMeta {
    pub chain: ChainMeta,
    /// Journal positions of blocks, oldest first.
    pub checkpoints: Vec<JournalCheckpoint>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct StoreMetaWire {
    safe: u64,
    finalized: u64,
    trails: bool,
    /// Offset in two's complement.
    clock_offset: u64,
    checkpoints: Vec<JournalCheckpoint>,
}

impl StoreMeta {
    pub fn encode(&self) -> Bytes {
        let Self { chain: ChainMeta { finality, clock_offset }, checkpoints } = self;
        let wire = StoreMetaWire {
            safe: finality.safe,
            finalized: finality.finalized,
            trails: finality.trails,
            clock_offset: clock_offset.cast_unsigned(),
            checkpoints: checkpoints.clone(),
        };
        alloy_rlp::encode(wire).into()
    }

    /// Decodes the metadata of a store. A store that has none yet has the default.
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidStoreMeta> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let wire: StoreMetaWire = alloy_rlp::decode_exact(bytes).map_err(|_| InvalidStoreMeta)?;
        let StoreMetaWire { safe, finalized, trails, clock_offset, checkpoints } = wire;
        let finality = Finality { safe, finalized, trails };
        Ok(Self { chain: ChainMeta { finality, clock_offset: clock_offset.cast_signed() }, checkpoints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_round_trips() {
        let finality = Finality { safe: 5, finalized: 3, trails: false };
        let checkpoints = vec![
            JournalCheckpoint { number: 1, sequence: 9 },
            JournalCheckpoint { number: 17, sequence: 90 },
        ];
        for clock_offset in [0, 7_000, -3] {
            let meta =
                StoreMeta { chain: ChainMeta { finality, clock_offset }, checkpoints: checkpoints.clone() };
            assert_eq!(StoreMeta::decode(&meta.encode()).unwrap(), meta);
        }
        assert_eq!(StoreMeta::decode(b"").unwrap(), StoreMeta::default());
        assert!(StoreMeta::decode(b"\xc0").is_err());
    }
}
