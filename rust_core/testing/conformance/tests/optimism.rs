//! Executes the recorded blocks of OP chains: every header, receipt and vault balance equals op-geth's.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable;
use foreseal_conformance::ChainRecording;
use foreseal_evm::execute_block;
use foreseal_primitives::ChainSpec;
use foreseal_state::{BlockHashes, State, StateError, StateReader, genesis_header};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expectations {
    blocks: Vec<ExpectedBlock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExpectedBlock {
    raw_header: Bytes,
    raw_receipts: Vec<Bytes>,
    balances: BTreeMap<Address, U256>,
}

struct Hashes(BTreeMap<u64, B256>);

impl BlockHashes for Hashes {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.0.get(&number).copied())
    }
}

/// Executes all blocks of a chain and returns the number of their transactions.
fn execute(recording: ChainRecording) -> usize {
    let name = recording.name;
    let spec = ChainSpec::new(recording.genesis).unwrap();
    let expected: Expectations = serde_json::from_value(recording.expected).unwrap();
    let (genesis, expected) = expected.blocks.split_first().unwrap();
    let mut state = State::from_genesis(spec.genesis());
    let mut parent = genesis_header(&spec, &state);
    assert_eq!(parent, Header::decode(&mut genesis.raw_header.as_ref()).unwrap(), "genesis of {name}");
    let mut hashes = Hashes([(0, parent.hash_slow())].into());
    let mut count = 0;
    for (bytes, expected) in recording.blocks.into_iter().zip(expected) {
        let number = bytes.header.number;
        hashes.0.insert(number, bytes.header.hash_slow());
        let executed = execute_block(&spec, &parent, &state, &hashes, bytes)
            .unwrap_or_else(|error| panic!("block {number} of {name}: {error}"));
        let receipts: Vec<Bytes> = executed
            .block
            .receipts
            .iter()
            .map(|receipt| {
                let mut out = Vec::new();
                receipt.encode_2718(&mut out);
                out.into()
            })
            .collect();
        assert_eq!(receipts, expected.raw_receipts, "receipts of block {number} of {name}");
        for (address, balance) in &expected.balances {
            let account = executed.state.account(address).unwrap().unwrap_or_default();
            assert_eq!(account.balance, *balance, "{address} after block {number} of {name}");
        }
        count += receipts.len();
        (parent, state) = (executed.block.header, executed.state);
    }
    count
}

#[test]
fn recorded_blocks_of_optimism_chains_execute() {
    for recording in ChainRecording::read_all() {
        let (name, blocks) = (recording.name, recording.blocks.len());
        let transactions = execute(recording);
        println!("{name}: {blocks} blocks with {transactions} transactions, 0 failed");
    }
}
