//! The chain of a worker, which reads the store of its sequencer.

use std::sync::Arc;

use foreseal_journal::RawAppend;

use super::{
    FollowerBackend,
    chain_copy::{ChainCopy, CopyError, CopyProgress, RestartCause},
    worker_chain::{StoreCheckpoint, WorkerChain, WorkerChainConfig},
};
use crate::wire::{Cursor, Welcome};

/// The chain of a worker on the store of the sequencer. It persists across connections, and starts again from the store
/// if its cursor is invalid.
pub struct SharedStoreChain {
    config: WorkerChainConfig,
    backend: Arc<dyn FollowerBackend>,
    chain: Option<WorkerChain>,
    /// Position of the store when a connection was greeted without a chain.
    checkpoint: Option<StoreCheckpoint>,
    /// Number of blocks removed from the published chain, or from an earlier chain.
    reorged: u64,
}

impl SharedStoreChain {
    /// Creates the chain without loading it. `backend` receives its views.
    pub fn new(config: WorkerChainConfig, backend: Arc<dyn FollowerBackend>) -> Self {
        Self { config, backend, chain: None, checkpoint: None, reorged: 0 }
    }

    fn chain(&mut self) -> Result<&mut WorkerChain, CopyError> {
        self.chain.as_mut().ok_or(CopyError::NoBlock)
    }
}

impl ChainCopy for SharedStoreChain {
    fn cursor(&mut self) -> Result<Cursor, CopyError> {
        self.checkpoint = None;
        if let Some(chain) = &self.chain {
            return Ok(chain.cursor());
        }
        let checkpoint = StoreCheckpoint::read(&self.config.store)?.ok_or(CopyError::NoBlock)?;
        Ok(self.checkpoint.insert(checkpoint).cursor())
    }

    fn begin(&mut self, welcome: &Arc<Welcome>) -> Result<bool, CopyError> {
        let Some(checkpoint) = self.checkpoint.take() else { return Ok(false) };
        self.chain = Some(WorkerChain::begin(self.config.clone(), &checkpoint, welcome, self.reorged)?);
        Ok(true)
    }

    fn apply(&mut self, append: &RawAppend) -> Result<(), CopyError> {
        Ok(self.chain()?.apply(append)?)
    }

    fn publish(&mut self, welcome: &Welcome) -> Result<(), CopyError> {
        let Some(chain) = &self.chain else { return Ok(()) };
        let view = match chain.view() {
            Some(view) => view,
            None if !welcome.produces || self.backend.view().is_none() => chain.idle_view(welcome)?,
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
        self.chain.as_ref().map(WorkerChain::progress)
    }

    fn start_over(&mut self, _: &RestartCause) -> Result<(), String> {
        if let Some(chain) = self.chain.take() {
            // Views from before are never joined with later ones.
            self.reorged = chain.reorged_blocks() + 1;
        }
        Ok(())
    }
}
