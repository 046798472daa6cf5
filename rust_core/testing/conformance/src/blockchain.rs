//! BlockchainTests: blocks on a genesis, branches included.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes, U256, map::B256Map};
use foreseal_evm::{execute_block, validate_transition};
use foreseal_primitives::{BlockBytes, ChainSpec};
use foreseal_state::{BlockHashes, State, StateError};
use serde::Deserialize;

use crate::{
    Case,
    allocation::{self, Allocation},
    case::same,
    networks::chain_spec,
    source::VectorFile,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    network: String,
    #[serde(rename = "genesisRLP")]
    genesis: Bytes,
    pre: Allocation,
    blocks: Vec<TestBlock>,
    #[serde(rename = "lastblockhash")]
    last_block_hash: B256,
    post_state: Option<Allocation>,
    post_state_hash: Option<B256>,
}

#[derive(Deserialize)]
struct TestBlock {
    rlp: Bytes,
    #[serde(rename = "expectException")]
    exception: Option<String>,
}

/// Block that was accepted.
struct Node {
    header: Header,
    state: State,
    total_difficulty: U256,
}

/// Accepted blocks of every branch.
struct Tree {
    spec: ChainSpec,
    nodes: B256Map<Node>,
    head: B256,
}

/// Ancestors of the next block, newest first.
struct AncestorHashes<'a> {
    tree: &'a Tree,
    parent: B256,
}

impl BlockHashes for AncestorHashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        let mut hash = self.parent;
        loop {
            let Some(node) = self.tree.nodes.get(&hash) else { return Ok(None) };
            if node.header.number == number {
                return Ok(Some(hash));
            }
            hash = node.header.parent_hash;
        }
    }
}

pub fn run(file: &VectorFile, fork: Option<&str>) -> Result<Vec<Case>, serde_json::Error> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(&file.bytes)?;
    let wanted = tests.iter().filter(|(_, test)| fork.is_none_or(|fork| fork == test.network));
    Ok(wanted
        .map(|(name, test)| {
            let mut case = Case::new(&file.name, name);
            case.fork = Some(test.network.clone());
            let outcome = replay(test).and_then(|tree| {
                case.state_root = tree.nodes.get(&tree.head).map(|head| head.state.root());
                judge(test, &tree)
            });
            case.outcome(outcome)
        })
        .collect())
}

fn replay(test: &Test) -> Result<Tree, String> {
    let spec = chain_spec(&test.network).ok_or_else(|| format!("network {} is not known", test.network))?;
    let genesis: BlockBytes = alloy_rlp::decode_exact(&test.genesis).map_err(|error| error.to_string())?;
    let state = allocation::state(&test.pre)?;
    same("genesis stateRoot", &genesis.header.state_root, &state.root())?;
    let head = genesis.header.hash_slow();
    let total_difficulty = genesis.header.difficulty;
    let node = Node { header: genesis.header, state, total_difficulty };
    let mut tree = Tree { spec, nodes: B256Map::from_iter([(head, node)]), head };
    for (index, block) in test.blocks.iter().enumerate() {
        match (tree.insert(&block.rlp), &block.exception) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Err(error), None) => return Err(format!("block {index}: {error}")),
            (Ok(()), Some(exception)) => {
                return Err(format!("block {index}: accepted, but {exception} is expected"));
            }
        }
    }
    Ok(tree)
}

fn judge(test: &Test, tree: &Tree) -> Result<(), String> {
    same("lastblockhash", &test.last_block_hash, &tree.head)?;
    let head = tree.nodes.get(&tree.head).ok_or("the head is not known")?;
    let expected = match (&test.post_state, test.post_state_hash) {
        (Some(post), _) => allocation::state(post)?.root(),
        (None, Some(root)) => root,
        (None, None) => return Err("neither postState nor postStateHash".to_owned()),
    };
    same("postState", &expected, &head.state.root())
}

impl Tree {
    /// Executes a block on its parent, on any branch, and updates the head.
    ///
    /// Under proof of work the head is the block with the highest total difficulty; after the merge it is the
    /// newest block.
    fn insert(&mut self, rlp: &[u8]) -> Result<(), String> {
        let block: BlockBytes = alloy_rlp::decode_exact(rlp).map_err(|error| error.to_string())?;
        let parent_hash = block.header.parent_hash;
        let parent = self.nodes.get(&parent_hash).ok_or("the parent is not known")?;
        validate_transition(&self.spec, &parent.header, parent.total_difficulty, &block.header)
            .map_err(|error| error.to_string())?;
        let total_difficulty = parent.total_difficulty.saturating_add(block.header.difficulty);
        let ancestors = AncestorHashes { tree: self, parent: parent_hash };
        let executed = execute_block(&self.spec, &parent.header, &parent.state, &ancestors, block)
            .map_err(|error| error.to_string())?;
        let (hash, header) = (executed.block.hash, executed.block.header);
        let head = self.nodes.get(&self.head).map_or(U256::ZERO, |head| head.total_difficulty);
        if header.difficulty.is_zero() || total_difficulty > head {
            self.head = hash;
        }
        self.nodes.insert(hash, Node { header, state: executed.state, total_difficulty });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a tree whose genesis reaches this total difficulty.
    fn tree(difficulty: u64) -> Tree {
        let header = Header { difficulty: U256::from(difficulty), ..Header::default() };
        let (head, total_difficulty) = (header.hash_slow(), header.difficulty);
        let node = Node { header, state: State::default(), total_difficulty };
        let spec = chain_spec("ArrowGlacierToParisAtDiffC0000").unwrap();
        Tree { spec, nodes: B256Map::from_iter([(head, node)]), head }
    }

    fn error_of_child(tree: &mut Tree, difficulty: u64) -> String {
        let header = Header {
            parent_hash: tree.head,
            number: 1,
            difficulty: U256::from(difficulty),
            ..Header::default()
        };
        let block = BlockBytes { header, transactions: Vec::new(), uncles: Vec::new(), withdrawals: None };
        tree.insert(&alloy_rlp::encode(&block)).unwrap_err()
    }

    #[test]
    fn branches_change_to_proof_of_stake_at_the_terminal_total_difficulty() {
        let mut reached = tree(0xc_0000);
        assert_eq!(error_of_child(&mut reached, 0x2_0000), "difficulty: expected 0, got 131072");
        assert!(!error_of_child(&mut reached, 0).starts_with("difficulty"));
        let mut before = tree(0xb_ffff);
        let early = "difficulty: expected proof of work until the total difficulty is 786432, got 0";
        assert_eq!(error_of_child(&mut before, 0), early);
    }
}
