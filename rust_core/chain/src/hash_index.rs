//! Hash index of the blocks in memory. All views share it, and each view checks the positions that it finds.

use alloy_primitives::{B256, map::B256HashMap};
use parking_lot::RwLock;

/// Number of newest blocks whose steps can be named by hash or position.
pub const STEP_WINDOW: u64 = 1024;

/// Number of a block, and the index of a step or transaction in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub number: u64,
    pub index: usize,
}

const SHARDS: usize = 64;

/// Sharded hash table, so that readers and the writer rarely contend for a lock.
#[derive(Debug)]
struct Positions([RwLock<B256HashMap<Position>>; SHARDS]);

impl Positions {
    fn new() -> Self {
        Self(std::array::from_fn(|_| RwLock::default()))
    }

    fn shard(&self, hash: &B256) -> &RwLock<B256HashMap<Position>> {
        &self.0[usize::from(hash[31]) % SHARDS]
    }

    fn get(&self, hash: &B256) -> Option<Position> {
        self.shard(hash).read().get(hash).copied()
    }

    fn insert(&self, hash: B256, position: Position) {
        self.shard(&hash).write().insert(hash, position);
    }

    fn remove(&self, hash: &B256) {
        self.shard(hash).write().remove(hash);
    }

    fn up_to(&self, number: u64) -> Self {
        let kept = |shard: &RwLock<B256HashMap<Position>>| {
            let shard = shard.read();
            let kept = shard.iter().filter(|(_, position)| position.number <= number);
            RwLock::new(kept.map(|(hash, position)| (*hash, *position)).collect())
        };
        Self(std::array::from_fn(|at| kept(&self.0[at])))
    }
}

/// Positions of steps and transactions in the blocks in memory. A sealed block is its last step.
///
/// The index is written before the view is published, so it can be ahead of a view. A view therefore checks
/// the entry at each position; an entry ahead of the view reads as absent.
#[derive(Debug)]
pub struct HashIndex {
    steps: Positions,
    transactions: Positions,
}

impl Default for HashIndex {
    fn default() -> Self {
        Self { steps: Positions::new(), transactions: Positions::new() }
    }
}

impl HashIndex {
    /// Returns the position of the step or block with this hash.
    pub fn step(&self, hash: &B256) -> Option<Position> {
        self.steps.get(hash)
    }

    /// Returns the position of the transaction with this hash.
    pub fn transaction(&self, hash: &B256) -> Option<Position> {
        self.transactions.get(hash)
    }

    /// Records a step or block.
    pub fn add_step(&self, hash: B256, number: u64, index: usize) {
        self.steps.insert(hash, Position { number, index });
    }

    /// Records a transaction.
    pub fn add_transaction(&self, hash: B256, number: u64, index: usize) {
        self.transactions.insert(hash, Position { number, index });
    }

    /// Removes a transaction that the history can find.
    pub fn remove_transaction(&self, hash: &B256) {
        self.transactions.remove(hash);
    }

    /// Returns a separate copy that holds only the blocks up to `number`.
    pub(crate) fn up_to(&self, number: u64) -> Self {
        Self { steps: self.steps.up_to(number), transactions: self.transactions.up_to(number) }
    }

    /// Removes a step that left the window, or that the history can find.
    pub fn remove_step(&self, hash: &B256) {
        self.steps.remove(hash);
    }
}
