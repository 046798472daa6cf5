//! SealedPosition blocks of another node, and their comparison with the blocks of the data directory.

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use foreseal_chain::{ChainError, SealedPosition};
use foreseal_store::Store;

/// Chain of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceChain {
    pub chain_id: u64,
    pub genesis: B256,
    /// Number of its newest sealed block.
    pub head: u64,
}

/// Another node that serves its sealed blocks. An error contains the reason for a missing response.
pub trait BlockSource {
    /// Returns the identity of its chain and its newest block number.
    fn chain(&mut self) -> Result<SourceChain, String>;
    /// Returns the hash of a sealed block; `None` if it has no block with this number.
    fn hash(&mut self, number: u64) -> Result<Option<B256>, String>;
    /// Returns a sealed block as RLP. The caller verifies it.
    fn block(&mut self, number: u64) -> Result<Vec<u8>, String>;
}

/// Error for which no blocks are fetched from another node.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("--from: {0}")]
    Unavailable(String),
    #[error(
        "--from: the node has chain id {found}, the data directory has {own}: use a node of the same chain"
    )]
    OtherChainId { found: u64, own: u64 },
    #[error(
        "--from: the node has genesis {found}, the data directory has {own}: use a node of the same chain"
    )]
    OtherGenesis { found: B256, own: B256 },
    /// Both blocks are sealed, so one of the two nodes contradicts what it published.
    #[error(
        "--from: block {number} of the node has hash {found}, but {record} of this data directory has {own}: a contradicting node is not used"
    )]
    Contradiction { number: u64, found: B256, own: B256, record: &'static str },
    #[error("--from: the node returned {found} in place of block {number}")]
    OtherBlock { number: u64, found: String },
    #[error("--from: block {number} of the node is rejected: {source}")]
    Rejected { number: u64, source: Box<ChainError> },
}

/// Requests to the other node; their errors name the option `--from`.
pub(crate) struct Fetcher<'s> {
    source: &'s mut dyn BlockSource,
}

impl<'s> Fetcher<'s> {
    pub fn new(source: &'s mut dyn BlockSource) -> Self {
        Self { source }
    }

    /// Returns the number of the node's newest sealed block.
    ///
    /// # Errors
    /// Returns an error if the node has another chain.
    pub fn head_of(&mut self, chain_id: u64, genesis: B256) -> Result<u64, SourceError> {
        let source_chain = self.source.chain().map_err(SourceError::Unavailable)?;
        if source_chain.chain_id != chain_id {
            return Err(SourceError::OtherChainId { found: source_chain.chain_id, own: chain_id });
        }
        if source_chain.genesis != genesis {
            return Err(SourceError::OtherGenesis { found: source_chain.genesis, own: genesis });
        }
        Ok(source_chain.head)
    }

    /// Returns the hash that the node reports for a block.
    pub fn hash(&mut self, number: u64) -> Result<B256, SourceError> {
        let hash = self.source.hash(number).map_err(SourceError::Unavailable)?;
        hash.ok_or_else(|| SourceError::OtherBlock { number, found: "nothing".to_owned() })
    }

    /// Compares the node's blocks up to `head` with those that the journal seals: these link all blocks
    /// before them.
    pub fn compare(&mut self, sealed: &[SealedPosition], head: u64) -> Result<(), SourceError> {
        let shared = &sealed[..sealed.partition_point(|block| block.number <= head)];
        // Blocks before a common one are common, so bisection finds the first difference.
        let (mut first, mut end) = (0, shared.len());
        let mut differs = None;
        while first < end {
            let middle = usize::midpoint(first, end);
            let SealedPosition { number, hash: own, .. } = shared[middle];
            let hash = self.hash(number)?;
            if hash == own {
                first = middle + 1;
            } else {
                end = middle;
                differs =
                    Some(SourceError::Contradiction { number, found: hash, own, record: "the journal" });
            }
        }
        differs.map_or(Ok(()), Err)
    }

    /// Returns the bytes and the hash of a block.
    ///
    /// # Errors
    /// Returns [`SourceError::Contradiction`] if the readable part of the damaged store has another block.
    pub fn block(&mut self, number: u64, store: Option<&Store>) -> Result<(Vec<u8>, B256), SourceError> {
        let bytes = self.source.block(number).map_err(SourceError::Unavailable)?;
        let Some(header) = header_of(&bytes) else {
            let description = format!("{} bytes that are not a block", bytes.len());
            return Err(SourceError::OtherBlock { number, found: description });
        };
        if header.number != number {
            return Err(SourceError::OtherBlock { number, found: format!("block {}", header.number) });
        }
        let hash = header.hash_slow();
        match store.and_then(|store| stored_hash(store, number)) {
            Some(own) if own != hash => Err(SourceError::Contradiction {
                number,
                found: hash,
                own,
                record: "the intact part of the store",
            }),
            _ => Ok((bytes, hash)),
        }
    }
}

fn header_of(block: &[u8]) -> Option<Header> {
    let mut bytes = block;
    alloy_rlp::Header::decode(&mut bytes).ok()?;
    Header::decode(&mut bytes).ok()
}

/// Returns the hash that a damaged store has for a block, if its page can be read.
fn stored_hash(store: &Store, number: u64) -> Option<B256> {
    store.reader().ok()?.block_hash(number).ok()?
}
