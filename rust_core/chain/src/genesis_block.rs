//! The genesis block of a new chain.

use std::sync::Arc;

use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::B256;
use foreseal_primitives::{Block, ChainSpec, GenesisError, StateDiff};
use foreseal_state::{State, genesis_diff, genesis_header};
use imbl::Vector;

use crate::{
    datadir::without_allocation,
    executed_block::ExecutedBlock,
    memory_size::{block_size, changes_size},
};

/// Genesis block and the state of its allocation. Clones share both.
#[derive(Clone, Debug)]
pub struct GenesisBlock {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) block: Arc<ExecutedBlock>,
    pub(crate) diff: Arc<StateDiff>,
}

impl GenesisBlock {
    /// Computes the state of the allocation, and the block.
    ///
    /// # Panics
    /// Panics if `spec` leaves out the allocation.
    pub fn new(spec: Arc<ChainSpec>) -> Self {
        assert!(spec.genesis_hash().is_none(), "the allocation of the genesis is not left out");
        let diff = genesis_diff(spec.genesis());
        let state = State::default().apply(&diff).expect("a state that is wholly in memory loads nothing");
        let header = genesis_header(&spec, &state);
        let hash = header.hash_slow();
        let withdrawals = header.withdrawals_root.map(|_| Withdrawals::default());
        let block = Block {
            header,
            hash,
            transactions: Vector::new(),
            receipts: Vector::new(),
            uncles: Vec::new(),
            withdrawals,
            transactions_length: 0,
        };
        let (steps, written) = (Vector::new(), Vector::new());
        let memory_size = block_size(&block) + changes_size(&diff);
        let block = ExecutedBlock { block, state, steps, written, memory_size };
        Self { spec, block: Arc::new(block), diff: Arc::new(diff) }
    }

    /// Returns the block with rules that leave out the allocation.
    ///
    /// # Errors
    /// Returns the errors of [`ChainSpec::without_allocation`].
    pub fn without_allocation(self) -> Result<Self, GenesisError> {
        let rules = without_allocation(self.spec.genesis());
        let spec = Arc::new(ChainSpec::without_allocation(rules, self.hash())?);
        Ok(Self { spec, ..self })
    }

    /// Returns the hash of the block.
    pub fn hash(&self) -> B256 {
        self.block.block.hash
    }

    /// Returns the rules of the chain.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use alloy_primitives::{Address, U256};
    use foreseal_primitives::{DevGenesis, dev_genesis};

    use super::*;
    use crate::{chain::Chain, datadir::genesis_hash, finality::FinalityDepth};

    #[test]
    fn a_chain_of_a_computed_genesis_equals_one_that_computes_it() {
        let genesis = dev_genesis(&DevGenesis {
            chain_id: 4711,
            gas_limit: 30_000_000,
            timestamp: 0,
            accounts: (1..100).map(Address::with_last_byte).collect(),
            balance: U256::from(7),
        });
        let spec = Arc::new(ChainSpec::new(genesis).unwrap());
        let computed = GenesisBlock::new(spec.clone()).without_allocation().unwrap();
        assert_eq!(computed.hash(), genesis_hash(&spec));
        assert!(computed.spec().genesis().alloc.is_empty());
        let depth = FinalityDepth::default();
        let (chain, other) = (Chain::new(spec, depth), Chain::from_genesis(&computed, depth));
        assert_eq!(other.latest().block.header, chain.latest().block.header);
        assert_eq!(other.latest().state.root(), chain.latest().state.root());
        assert_eq!(other.spec().genesis_hash(), Some(chain.latest().block.hash));
    }
}
