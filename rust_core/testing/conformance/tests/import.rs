//! Imports the sample chain of the execution API: every block, through every fork.

use std::collections::BTreeMap;

use alloy_primitives::{B256, b256};
use alloy_rlp::Decodable;
use foreseal_conformance::vectors;
use foreseal_evm::execute_block;
use foreseal_primitives::{BlockBytes, ChainSpec, parse_genesis};
use foreseal_state::{BlockHashes, State, StateError};

const HEAD: B256 = b256!("0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7");

struct Hashes(BTreeMap<u64, B256>);

impl BlockHashes for Hashes {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.0.get(&number).copied())
    }
}

#[test]
fn the_sample_chain_imports() {
    let Some(folder) = vectors::find("execution-apis") else { return };
    let genesis = parse_genesis(&std::fs::read_to_string(folder.join("genesis.json")).unwrap()).unwrap();
    let spec = ChainSpec::new(genesis).unwrap();
    let mut state = State::from_genesis(spec.genesis());
    let mut parent = spec.genesis_header(state.root());
    let mut hashes = Hashes(BTreeMap::from([(0, parent.hash_slow())]));
    let chain = std::fs::read(folder.join("chain.rlp")).unwrap();
    let mut rest = chain.as_slice();
    while !rest.is_empty() {
        let block = BlockBytes::decode(&mut rest).unwrap();
        let number = block.header.number;
        let executed = execute_block(&spec, &parent, &state, &hashes, block)
            .unwrap_or_else(|error| panic!("block {number}: {error}"));
        hashes.0.insert(number, executed.block.hash);
        // The single diff of the block equals the diffs of its transactions, applied one by one before
        // Byzantium.
        let next = state.apply(&executed.diff).unwrap();
        assert_eq!(next.root(), executed.state.root(), "block {number}");
        (parent, state) = (executed.block.header, next);
    }
    assert_eq!((parent.number, parent.hash_slow()), (54, HEAD));
    println!("54 blocks, 0 failed");
}
