//! A block opened on a genesis.

use std::sync::Arc;

use alloy_genesis::Genesis;
use alloy_primitives::{Address, B256, Bytes};
use foreseal_builder::{NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_pool::{PendingHead, Pool, PoolError, decode_submission};
use foreseal_primitives::{ChainSpec, Flashblock};
use foreseal_state::{NoBlockHashes, State, StateReader};

/// State on which the pool checks submissions.
struct Head(State);

impl PendingHead for Head {
    fn state(&self) -> &dyn StateReader {
        &self.0
    }

    fn is_preconfirmed(&self, _: &B256) -> bool {
        false
    }
}

/// Opens the block after genesis; returns its rules, the block and its opening step.
pub fn open_block(genesis: Genesis) -> (Arc<ChainSpec>, PendingBlock, Flashblock) {
    let spec = Arc::new(ChainSpec::new(genesis).unwrap());
    let state = State::from_genesis(spec.genesis());
    let header = spec.genesis_header(state.root());
    let parent = ParentBlock { header: &header, hash: header.hash_slow(), state: &state };
    let attributes = NextBlockAttributes {
        merged: true,
        timestamp: 2,
        mix_hash: B256::repeat_byte(7),
        beneficiary: Address::repeat_byte(9),
        gas_limit: header.gas_limit,
        extra_data: Bytes::new(),
        exact_gas_limit: None,
        base_fee: None,
        parent_beacon_block_root: B256::ZERO,
        withdrawals: Vec::new(),
        transactions: Vec::new(),
    };
    let (open, first) = PendingBlock::open(&spec, parent, &attributes, &NoBlockHashes).unwrap();
    let reopened = PendingBlock::resume(&spec, parent, &first).unwrap();
    assert_eq!(reopened.hash(), open.hash());
    (spec, open, first)
}

/// Submits a signed transaction to the pool; returns its hash.
pub fn submit(pool: &Pool, spec: &ChainSpec, block: &PendingBlock, raw: &[u8]) -> B256 {
    try_submit(pool, spec, block, raw).unwrap()
}

/// Submits a signed transaction to the pool; returns its hash, or the error of the pool.
pub fn try_submit(
    pool: &Pool,
    spec: &ChainSpec,
    block: &PendingBlock,
    raw: &[u8],
) -> Result<B256, PoolError> {
    let head = Arc::new(Head(block.state().clone()));
    let submission = decode_submission(raw, &pool.rules(spec, block.header()))?;
    Ok(pool.add(submission, || head.clone())?.hash)
}
