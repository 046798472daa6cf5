//! The store of a data directory, opened with the settings of a node.

use std::path::{Path, PathBuf};

use alloy_genesis::Genesis;
use foreseal_chain::{
    STEP_WINDOW,
    datadir::{DataDir, DataDirError, JOURNAL, STORE, agreed_spec, genesis_hash, summarized_spec},
};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Store, StoreError, StoreOptions};

use crate::{errors::node_error::NodeError, settings::StoreSettings};

/// Opens the store of this chain in a locked data directory, or creates it.
pub(crate) fn open_store(
    datadir: &DataDir,
    spec: &ChainSpec,
    settings: &StoreSettings,
) -> Result<Store, StoreError> {
    open_store_in(&datadir.store(), spec, settings)
}

/// Opens or creates a store of this chain in `folder`.
pub(crate) fn open_store_in(
    folder: &Path,
    spec: &ChainSpec,
    settings: &StoreSettings,
) -> Result<Store, StoreError> {
    Store::open(folder, store_options(spec, settings))
}

/// Read-only access of a worker to a data directory. Writes nothing but the store's reader lock file, and
/// takes no lock.
pub(crate) struct WorkerDataDir {
    pub spec: ChainSpec,
    pub store: Store,
    pub journal: PathBuf,
}

impl WorkerDataDir {
    /// Opens the store that the sequencer created. If a genesis is given, it must equal the stored one.
    pub fn open(path: &Path, given: Option<&Genesis>, settings: &StoreSettings) -> Result<Self, NodeError> {
        let summarized = if given.is_none() { summarized_spec(path)? } else { None };
        let spec = summarized.map_or_else(|| agreed_spec(path, given), |spec| Ok(Some(spec)))?;
        let spec = spec.ok_or_else(|| DataDirError::NoGenesis { datadir: path.to_owned() })?;
        let options = StoreOptions { read_only: true, ..store_options(&spec, settings) };
        let store = Store::open(path.join(STORE), options)?;
        Ok(Self { spec, store, journal: path.join(JOURNAL) })
    }
}

fn store_options(spec: &ChainSpec, settings: &StoreSettings) -> StoreOptions {
    StoreOptions {
        map_size: settings.map_size,
        // Step states are computed by re-execution on the state before their block, so one more block is
        // needed.
        proof_window: settings.proofs.saturating_add(1),
        step_window: STEP_WINDOW,
        at: settings.at,
        caches: settings.caches.state,
        withdrawals_in_state: spec.optimism().is_some(),
        ..StoreOptions::new(spec.chain_id(), genesis_hash(spec))
    }
}
