//! Access to the store of a data directory without running a node, also while another process runs one; and
//! the upgrade of the store to the current schema.

use std::{ops::ControlFlow, path::Path};

use foreseal_chain::datadir::{DataDir, DataDirError, STORE, genesis_hash, stored_spec};
use foreseal_store::{SCHEMA, Store, StoreCopy, StoreOptions, UpgradeProgress};

use crate::{NodeError, StoreSettings, store_files::open_store_reporting};

/// Opens the store of a data directory for reading. Writes nothing but the reader lock file and takes no
/// lock, so a node may write the store at the same time.
///
/// # Errors
/// Fails if the directory holds no chain, or if the store does not belong to that chain.
pub fn open_store_to_read(datadir: &Path, settings: &StoreSettings) -> Result<Store, NodeError> {
    settings.check()?;
    let spec =
        stored_spec(datadir)?.ok_or_else(|| DataDirError::NoGenesis { datadir: datadir.to_owned() })?;
    let options = StoreOptions {
        map_size: settings.map_size,
        read_only: true,
        withdrawals_in_state: spec.optimism().is_some(),
        ..StoreOptions::new(spec.chain_id(), genesis_hash(&spec))
    };
    Ok(Store::open(datadir.join(STORE), options)?)
}

/// Returns the schema version of the store of a data directory, whether current or older. Takes no lock.
pub fn store_schema(datadir: &Path, settings: &StoreSettings) -> Result<u32, NodeError> {
    let spec =
        stored_spec(datadir)?.ok_or_else(|| DataDirError::NoGenesis { datadir: datadir.to_owned() })?;
    let options = StoreOptions {
        map_size: settings.map_size,
        withdrawals_in_state: spec.optimism().is_some(),
        ..StoreOptions::new(spec.chain_id(), genesis_hash(&spec))
    };
    Ok(StoreCopy::open(&datadir.join(STORE), &options)?.schema()?)
}

/// Upgrades the store of a data directory, on which no node may run, to the current schema. Returns the
/// version that it had.
///
/// # Errors
/// Returns [`foreseal_store::StoreError::Interrupted`] if `report` stops the upgrade; the next opening
/// resumes it.
pub fn upgrade_store(
    datadir: &Path,
    settings: &StoreSettings,
    report: &mut dyn FnMut(UpgradeProgress) -> ControlFlow<()>,
) -> Result<u32, NodeError> {
    settings.check()?;
    let spec =
        stored_spec(datadir)?.ok_or_else(|| DataDirError::NoGenesis { datadir: datadir.to_owned() })?;
    let locked = DataDir::lock(datadir)?;
    let found = store_schema(datadir, settings)?;
    if found < SCHEMA {
        open_store_reporting(&locked, &spec, settings, report)?;
    }
    Ok(found)
}
