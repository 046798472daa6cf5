//! Environment of a node.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_chain::Clock;
use foreseal_journal::Disk;

/// Source of random 32-byte values, such as `mixHash`.
pub type Randomness = Box<dyn FnMut() -> B256 + Send>;

/// Environment of a node: clocks, randomness and disk.
pub struct NodeEnvironment {
    pub clock: Arc<dyn Clock>,
    pub randomness: Randomness,
    /// Source of the key that signs steps, used if no key exists yet. Its output must be secret and
    /// unpredictable.
    pub secret: Randomness,
    pub disk: Arc<dyn Disk>,
}
