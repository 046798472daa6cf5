//! The data directory that is copied.

use std::path::Path;

use foreseal_chain::datadir::{DataDirError, genesis_hash, stored_spec};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Store, StoreCopy, StoreError, StoreOptions};

use crate::{error::BackupError, file_names::STORE};

/// Data directory to copy.
pub struct BackupSource<'a> {
    pub datadir: &'a Path,
    /// The store, if this process has it open.
    pub store: Option<&'a Store>,
    /// Maximum size of the store in bytes, used if it is not open.
    pub map_size: usize,
    /// `true` to copy the key that signs steps to a backup. A copy over a stream never contains it. Any
    /// holder of the key can sign as the sequencer. A node that continues from an older backup with it contradicts
    /// the pre-confirmations signed since then.
    pub with_key: bool,
}

impl BackupSource<'_> {
    /// Returns the rules of the chain.
    pub(crate) fn spec(&self) -> Result<ChainSpec, BackupError> {
        let missing = || DataDirError::NoGenesis { datadir: self.datadir.to_owned() };
        Ok(stored_spec(self.datadir)?.ok_or_else(missing)?)
    }

    pub(crate) fn options(&self, spec: &ChainSpec) -> StoreOptions {
        StoreOptions { map_size: self.map_size, ..StoreOptions::new(spec.chain_id(), genesis_hash(spec)) }
    }

    pub(crate) fn copying(&self, options: &StoreOptions) -> Result<StoreCopy, StoreError> {
        match self.store {
            Some(store) => Ok(StoreCopy::from_store(store)),
            None => StoreCopy::open(&self.datadir.join(STORE), options),
        }
    }
}
