//! Data of production under a driver: the payload being built, and blocks that are not on the chain.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use alloy_primitives::{B64, B256, Bytes};
use foreseal_builder::NextBlockAttributes;
use foreseal_chain::{block_size, changes_size};
use foreseal_evm::ExecutionOutput;
use foreseal_primitives::Block;

/// Maximum number of blocks of branches; the oldest is evicted first. A driver sends an evicted one again.
pub(crate) const MAX_BRANCH_BLOCKS: u64 = 64;
/// Maximum number of hashes of invalid blocks.
const MAX_INVALID: usize = 512;
/// Maximum number of finished payloads that a driver can get again.
const MAX_FINISHED: usize = 4;

/// Head of the chain as a driver chooses it, and the blocks that L1 has made safe and final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkChoice {
    pub head: B256,
    /// `None` leaves it unchanged.
    pub safe: Option<B256>,
    /// `None` leaves it unchanged.
    pub finalized: Option<B256>,
}

/// Outcome of a choice of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadChoice {
    /// The chain ends at the head.
    Chosen,
    /// The head is an ancestor of the newest block of a chain without a rollup, and the choice has no effect.
    Ancestor,
    /// No block with this hash is known.
    Unknown,
    /// The head is an invalid block.
    Invalid { latest_valid: B256 },
}

/// Request of a driver to build a block.
#[derive(Clone, Debug)]
pub struct PayloadRequest {
    pub id: B64,
    pub attributes: NextBlockAttributes,
    /// `true` if the block is filled from the pool.
    pub uses_pool: bool,
}

/// Block of a payload, ready to be sealed.
#[derive(Clone, Debug)]
pub struct BuiltPayload {
    pub block: Block,
    /// Requests to the consensus layer by type (EIP-7685); empty before Prague and on an OP chain.
    pub requests: Vec<Bytes>,
}

/// Verdict on a block that a driver sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockVerdict {
    Valid,
    Invalid {
        /// Newest valid ancestor.
        latest_valid: B256,
        reason: String,
    },
    /// The block's parent is not known.
    UnknownParent,
}

/// Payload that is being built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenPayload {
    pub id: B64,
    pub uses_pool: bool,
    /// `true` once the driver has its block: no step is added any more.
    pub is_finished: bool,
}

/// Valid block that is not on the chain.
#[derive(Clone)]
pub(crate) struct BranchBlock {
    pub number: u64,
    pub parent: B256,
    /// RLP of the block.
    pub bytes: Bytes,
    /// Result of its execution; `None` for a block that was unwound.
    pub executed: Option<ExecutionOutput>,
}

impl BranchBlock {
    /// Returns the approximate size in memory of the result of the execution, in bytes.
    fn result_size(&self) -> usize {
        self.executed.as_ref().map_or(0, |output| block_size(&output.block) + changes_size(&output.diff))
    }
}

/// Data of production under a driver. Nothing of it is durable: after a restart, the driver asks again.
pub(crate) struct DriverState {
    /// Maximum size of the results of blocks of branches in memory, and as much of finished payloads; the newest of
    /// each stays. A block without its result stays as well, and is executed again if a child needs it.
    max_bytes: usize,
    /// Size of both, for metrics.
    gauge: Arc<AtomicU64>,
    /// Size of the results of `branches`.
    branch_bytes: usize,
    pub payload: Option<OpenPayload>,
    finished: VecDeque<(B64, BuiltPayload)>,
    branches: HashMap<B256, BranchBlock>,
    /// Hashes of `branches` in order of arrival.
    order: VecDeque<B256>,
    /// Newest valid ancestors of invalid blocks.
    invalid: HashMap<B256, B256>,
    invalid_order: VecDeque<B256>,
}

impl DriverState {
    /// Returns the state of a node without a payload and branches. `gauge` shows the bytes in use.
    pub fn new(max_bytes: usize, gauge: Arc<AtomicU64>) -> Self {
        Self {
            max_bytes,
            gauge,
            branch_bytes: 0,
            payload: None,
            finished: VecDeque::new(),
            branches: HashMap::new(),
            order: VecDeque::new(),
            invalid: HashMap::new(),
            invalid_order: VecDeque::new(),
        }
    }

    fn finished_bytes(&self) -> usize {
        self.finished.iter().map(|(_, built)| block_size(&built.block)).sum()
    }

    fn show_bytes(&self) {
        self.gauge.store((self.branch_bytes + self.finished_bytes()) as u64, Ordering::Relaxed);
    }

    /// Returns `true` while steps are added to the payload being built.
    pub fn is_building(&self) -> bool {
        self.payload.is_some_and(|payload| payload.uses_pool && !payload.is_finished)
    }

    /// Returns the block of a finished payload.
    pub fn finished(&self, id: B64) -> Option<&BuiltPayload> {
        self.finished.iter().find(|(finished, _)| *finished == id).map(|(_, built)| built)
    }

    /// Ends the payload being built.
    pub fn finish(&mut self, id: B64, built: BuiltPayload) {
        if let Some(payload) = self.payload.as_mut().filter(|payload| payload.id == id) {
            payload.is_finished = true;
        }
        self.finished.push_back((id, built));
        while self.finished.len() > MAX_FINISHED
            || (self.finished.len() > 1 && self.finished_bytes() > self.max_bytes)
        {
            self.finished.pop_front();
        }
        self.show_bytes();
    }

    pub fn branch(&self, hash: &B256) -> Option<&BranchBlock> {
        self.branches.get(hash)
    }

    pub fn add_branch(&mut self, hash: B256, block: BranchBlock) {
        self.branch_bytes += block.result_size();
        match self.branches.insert(hash, block) {
            None => self.order.push_back(hash),
            Some(replaced) => self.branch_bytes -= replaced.result_size(),
        }
        while self.order.len() as u64 > MAX_BRANCH_BLOCKS {
            if let Some(oldest) = self.order.pop_front() {
                self.take_branch(&oldest);
            }
        }
        // The next block may be executed after this one.
        for older in self.order.iter().filter(|older| **older != hash) {
            if self.branch_bytes <= self.max_bytes {
                break;
            }
            let Some(block) = self.branches.get_mut(older) else { continue };
            self.branch_bytes -= block.result_size();
            block.executed = None;
        }
        self.show_bytes();
    }

    /// Removes a block that is on the chain now.
    pub fn remove_branch(&mut self, hash: &B256) {
        if self.take_branch(hash) {
            self.order.retain(|other| other != hash);
            self.show_bytes();
        }
    }

    fn take_branch(&mut self, hash: &B256) -> bool {
        let taken = self.branches.remove(hash);
        self.branch_bytes -= taken.as_ref().map_or(0, BranchBlock::result_size);
        taken.is_some()
    }

    /// Returns the newest valid ancestor of a block that was found invalid.
    pub fn invalid(&self, hash: &B256) -> Option<B256> {
        self.invalid.get(hash).copied()
    }

    pub fn add_invalid(&mut self, hash: B256, latest_valid: B256) {
        if self.invalid.insert(hash, latest_valid).is_none() {
            self.invalid_order.push_back(hash);
        }
        if self.invalid_order.len() > MAX_INVALID
            && let Some(oldest) = self.invalid_order.pop_front()
        {
            self.invalid.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn numbered(number: u64) -> B256 {
        B256::from(alloy_primitives::U256::from(number))
    }

    #[test]
    fn the_oldest_branch_blocks_are_evicted() {
        let mut state = DriverState::new(1 << 20, Arc::default());
        let block = |number| BranchBlock { number, parent: B256::ZERO, bytes: Bytes::new(), executed: None };
        for number in 0..100 {
            state.add_branch(numbered(number), block(number));
        }
        assert!(state.branch(&numbered(35)).is_none());
        assert_eq!(state.branch(&numbered(36)).unwrap().number, 36);
        state.remove_branch(&numbered(36));
        state.add_branch(numbered(100), block(100));
        assert!(state.branch(&numbered(36)).is_none() && state.branch(&numbered(37)).is_some());
    }

    #[test]
    fn invalid_blocks_are_forgotten_after_many_others() {
        let mut state = DriverState::new(1 << 20, Arc::default());
        for number in 0..=512 {
            state.add_invalid(numbered(number), B256::ZERO);
        }
        assert_eq!((state.invalid(&numbered(0)), state.invalid(&numbered(1))), (None, Some(B256::ZERO)));
    }
}
