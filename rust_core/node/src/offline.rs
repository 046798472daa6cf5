//! Looking at the store of a data directory without running a node on it, or beside one that runs; and bringing it to this program's
//! schema.

use std::{ops::ControlFlow, path::Path};

use foreseal_store::{Copying, Options, SCHEMA, Store, Upgrading};

use crate::{
    NodeError, StoreSettings,
    datadir::{DataDir, stored_spec},
    start::genesis_hash,
};

/// Opens the store of a data directory for reading. Nothing is written but the file of locks, and no lock is taken: a node may
/// write it meanwhile.
///
/// # Errors
/// Whatever is not the store of the chain that the data directory was made for.
pub fn open_store_to_read(datadir: &Path, settings: &StoreSettings) -> Result<Store, NodeError> {
    settings.check()?;
    let spec = stored_spec(datadir)?.ok_or_else(|| NodeError::NoGenesis { datadir: datadir.to_owned() })?;
    let options = Options {
        map_size: settings.map_size,
        read_only: true,
        ..Options::new(spec.chain_id(), genesis_hash(&spec))
    };
    Ok(Store::open(datadir.join("store"), options)?)
}

/// Schema of the store of a data directory, whether it is this program's or an older one. No lock is taken.
pub fn store_schema(datadir: &Path, settings: &StoreSettings) -> Result<u32, NodeError> {
    let spec = stored_spec(datadir)?.ok_or_else(|| NodeError::NoGenesis { datadir: datadir.to_owned() })?;
    let options =
        Options { map_size: settings.map_size, ..Options::new(spec.chain_id(), genesis_hash(&spec)) };
    Ok(Copying::open(&datadir.join("store"), &options)?.schema()?)
}

/// Brings the store of a data directory, on which no node runs, to this program's schema. The schema that it had.
///
/// # Errors
/// [`foreseal_store::StoreError::Interrupted`] when `report` ends it: the next opening goes on there.
pub fn upgrade_store(
    datadir: &Path,
    settings: &StoreSettings,
    report: &mut dyn FnMut(Upgrading) -> ControlFlow<()>,
) -> Result<u32, NodeError> {
    settings.check()?;
    let spec = stored_spec(datadir)?.ok_or_else(|| NodeError::NoGenesis { datadir: datadir.to_owned() })?;
    let locked = DataDir::lock(datadir)?;
    let found = store_schema(datadir, settings)?;
    if found < SCHEMA {
        locked.open_store_reporting(&spec, settings, report)?;
    }
    Ok(found)
}
