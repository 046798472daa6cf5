//! Looking at the store of a data directory without running a node on it, or beside one that runs.

use std::path::Path;

use foreseal_store::{Options, Store};

use crate::{NodeError, StoreSettings, datadir::stored_spec, start::genesis_hash};

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
