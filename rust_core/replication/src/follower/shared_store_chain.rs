//! The chain of a worker, which reads the store of its sequencer.

use std::sync::Arc;

use foreseal_journal::RawAppend;

use super::{
    FollowerBackend,
    chain_copy::{ChainCopy, CopyError, CopyProgress, RestartCause},
    replica::{Replica, ReplicaConfig, StoreCheckpoint},
};
use crate::wire::{Cursor, Welcome};

/// A replica on the store of the sequencer. It persists across connections, and starts again from the store if
/// its cursor is invalid.
pub struct SharedStoreChain {
    config: ReplicaConfig,
    backend: Arc<dyn FollowerBackend>,
    replica: Option<Replica>,
    /// Position of the store when a connection was greeted without a replica.
    checkpoint: Option<StoreCheckpoint>,
    /// Number of blocks removed from the published chain, or from an earlier replica.
    reorged: u64,
}

impl SharedStoreChain {
    /// Creates the chain without loading it. `backend` receives its views.
    pub fn new(config: ReplicaConfig, backend: Arc<dyn FollowerBackend>) -> Self {
        Self { config, backend, replica: None, checkpoint: None, reorged: 0 }
    }

    fn replica(&mut self) -> Result<&mut Replica, CopyError> {
        self.replica.as_mut().ok_or(CopyError::NoBlock)
    }
}

impl ChainCopy for SharedStoreChain {
    fn cursor(&mut self) -> Result<Cursor, CopyError> {
        self.checkpoint = None;
        if let Some(replica) = &self.replica {
            return Ok(replica.cursor());
        }
        let checkpoint = StoreCheckpoint::read(&self.config.store)?.ok_or(CopyError::NoBlock)?;
        Ok(self.checkpoint.insert(checkpoint).cursor())
    }

    fn begin(&mut self, welcome: &Arc<Welcome>) -> Result<bool, CopyError> {
        let Some(checkpoint) = self.checkpoint.take() else { return Ok(false) };
        self.replica = Some(Replica::begin(self.config.clone(), &checkpoint, welcome, self.reorged)?);
        Ok(true)
    }

    fn apply(&mut self, append: &RawAppend) -> Result<(), CopyError> {
        Ok(self.replica()?.apply(append)?)
    }

    fn publish(&mut self, welcome: &Welcome) -> Result<(), CopyError> {
        let Some(replica) = &self.replica else { return Ok(()) };
        let view = match replica.view() {
            Some(view) => view,
            None if !welcome.produces || self.backend.view().is_none() => replica.idle_view(welcome)?,
            None => return Ok(()),
        };
        self.backend.publish(Arc::new(view));
        Ok(())
    }

    fn while_following(&mut self, act: &mut dyn FnMut()) -> Result<(), CopyError> {
        act();
        Ok(())
    }

    fn progress(&self) -> Option<CopyProgress> {
        self.replica.as_ref().map(Replica::progress)
    }

    fn start_over(&mut self, _: &RestartCause) -> Result<(), String> {
        if let Some(replica) = self.replica.take() {
            // Views from before are never joined with later ones.
            self.reorged = replica.reorged_blocks() + 1;
        }
        Ok(())
    }
}
