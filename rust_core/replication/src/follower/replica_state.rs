//! State of a follower that persists across connections.

use super::replica::Replica;

/// State that persists across connections.
#[derive(Default)]
pub(super) struct ReplicaState {
    pub replica: Option<Replica>,
    /// Number of blocks removed from the published chain, or from an earlier replica.
    pub reorged: u64,
}

impl ReplicaState {
    /// Discards the replica: the next connection starts from the store.
    pub fn start_over(&mut self) {
        if let Some(replica) = self.replica.take() {
            // Views from before are never joined with later ones.
            self.reorged = replica.reorged_blocks() + 1;
        }
    }
}
