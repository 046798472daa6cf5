//! Access to the store of a data directory without running a node, also while another process runs one.

use std::path::Path;

use foreseal_chain::datadir::{DataDirError, STORE, genesis_hash, stored_spec};
use foreseal_store::{Store, StoreOptions};

use crate::{errors::node_error::NodeError, settings::StoreSettings};

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
