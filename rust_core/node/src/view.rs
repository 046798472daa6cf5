//! The one immutable snapshot that answers every read, sealed and pending alike.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_pool::PendingHead;
use foreseal_state::{BlockHashes, StateError, StateReader};
use foreseal_types::ChainSpec;
use imbl::Vector;

use crate::{Executed, Lookup, Moment};

/// How a caller names a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockId {
    /// The newest sealed block.
    Latest,
    /// The block being built.
    Pending,
    Safe,
    Finalized,
    /// Genesis.
    Earliest,
    /// A sealed block by number.
    Number(u64),
    /// A sealed block, the block being built, or a step, by hash (EIP-1898).
    Hash {
        hash: B256,
        require_canonical: bool,
    },
    /// A step by position; of a sealed block or the one being built.
    Step {
        number: u64,
        index: u64,
    },
}

/// Why a [`BlockId`] has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("block not found")]
    NotFound,
    /// `requireCanonical` with the hash of a step that a later one superseded.
    #[error("hash is not currently canonical")]
    NotCanonical,
    /// What is stored could not be read, or is no longer what the view showed.
    #[error(transparent)]
    Read(#[from] StateError),
}

/// Everything a request can ask about, as of one step. Never changes; a clone of its `Arc` pins it.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) spec: Arc<ChainSpec>,
    /// Sealed blocks by number, genesis first.
    pub(crate) sealed: Vector<Arc<Executed>>,
    pub(crate) pending: Arc<Executed>,
    pub(crate) pending_index: u64,
    pub(crate) safe: u64,
    pub(crate) finalized: u64,
    pub(crate) lookup: Arc<Lookup>,
}

impl View {
    /// The chain's rules.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// The block being built, as of the newest step.
    pub fn pending(&self) -> &Arc<Executed> {
        &self.pending
    }

    /// Index of the newest step of the block being built.
    pub fn pending_index(&self) -> u64 {
        self.pending_index
    }

    /// The newest sealed block.
    pub fn latest(&self) -> &Arc<Executed> {
        self.sealed.last().expect("a view holds at least genesis")
    }

    /// The sealed block with this number.
    pub fn sealed(&self, number: u64) -> Result<Option<Arc<Executed>>, StateError> {
        let found = usize::try_from(number).ok().and_then(|number| self.sealed.get(number));
        Ok(found.cloned())
    }

    /// The block with this number, sealed or being built.
    pub fn at(&self, number: u64) -> Result<Option<Arc<Executed>>, StateError> {
        if number == self.pending.number() { Ok(Some(self.pending.clone())) } else { self.sealed(number) }
    }

    /// Number of the safe block.
    pub fn safe(&self) -> u64 {
        self.safe
    }

    /// Number of the finalized block.
    pub fn finalized(&self) -> u64 {
        self.finalized
    }

    /// The block that `id` names, as it stood then if `id` names a step.
    pub fn resolve(&self, id: BlockId) -> Result<Arc<Executed>, ResolveError> {
        let sealed = |number| self.sealed(number)?.ok_or(ResolveError::NotFound);
        match id {
            BlockId::Latest => Ok(self.latest().clone()),
            BlockId::Pending => Ok(self.pending.clone()),
            BlockId::Safe => sealed(self.safe),
            BlockId::Finalized => sealed(self.finalized),
            BlockId::Earliest => sealed(0),
            BlockId::Number(number) => sealed(number),
            BlockId::Hash { hash, require_canonical } => self.by_hash(&hash, require_canonical),
            BlockId::Step { number, index } => {
                let block = self.at(number)?.ok_or(ResolveError::NotFound)?;
                let index = usize::try_from(index).map_err(|_| ResolveError::NotFound)?;
                block.at_step(index).map(Arc::new).ok_or(ResolveError::NotFound)
            }
        }
    }

    /// Header and state of the block that `id` names: as [`Self::resolve`], without the cost of the block's body.
    pub fn moment(&self, id: BlockId) -> Result<Moment, ResolveError> {
        self.resolve(id).map(Moment)
    }

    /// The transaction with this hash: its block (sealed or being built) and its index there.
    pub fn transaction(&self, hash: &B256) -> Result<Option<(Arc<Executed>, usize)>, StateError> {
        let Some(position) = self.lookup.transaction(hash) else { return Ok(None) };
        let Some(block) = self.at(position.number)? else { return Ok(None) };
        let found = block.block.transactions.get(position.index);
        let found = found.is_some_and(|transaction| transaction.hash() == *hash);
        Ok(found.then_some((block, position.index)))
    }

    fn by_hash(&self, hash: &B256, require_canonical: bool) -> Result<Arc<Executed>, ResolveError> {
        let position = self.lookup.step(hash).ok_or(ResolveError::NotFound)?;
        let block = self.at(position.number)?.ok_or(ResolveError::NotFound)?;
        if block.block.hash == *hash {
            return Ok(block);
        }
        let step = block.steps.get(position.index).ok_or(ResolveError::NotFound)?;
        if step.hash != *hash {
            return Err(ResolveError::NotFound);
        }
        if require_canonical {
            return Err(ResolveError::NotCanonical);
        }
        block.at_step(position.index).map(Arc::new).ok_or(ResolveError::NotFound)
    }
}

impl BlockHashes for View {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        let found = usize::try_from(number).ok().and_then(|number| self.sealed.get(number));
        Ok(found.map(|block| block.block.hash))
    }
}

impl PendingHead for View {
    fn state(&self) -> &dyn StateReader {
        &self.pending.state
    }

    fn is_preconfirmed(&self, hash: &B256) -> bool {
        let Some(position) = self.lookup.transaction(hash) else { return false };
        let found = || self.pending.block.transactions.get(position.index);
        position.number == self.pending.number() && found().is_some_and(|found| found.hash() == *hash)
    }
}
