//! Replacement of all versions of changed nodes.

use foreseal_state::StateChanges;
use foreseal_trie::NodeChangeKind;
use heed::RwTxn;

use super::node_key::{self, Kind};
use crate::{error::StoreError, table::Tables};

/// Applies changes as versions of block `number`; earlier versions of the changed locations are deleted.
pub(crate) fn replace_versions(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    number: u64,
    changes: &StateChanges,
) -> Result<(), StoreError> {
    let accounts =
        changes.accounts.iter().map(|change| (Kind::Accounts, change.path.to_vec(), &change.write));
    let storages = changes.storages.iter().flat_map(|storage| {
        let location = |path: &[u8]| node_key::in_storage(&storage.account, path);
        storage.nodes.iter().map(move |change| (Kind::Storages, location(&change.path), &change.write))
    });
    for (kind, path_key, write) in accounts.chain(storages) {
        let table = kind.table(tables);
        match write {
            NodeChangeKind::Stored(node) => {
                table.delete_range(txn, &node_key::start(&path_key), &node_key::end(&path_key))?;
                table.put(txn, &node_key::key(&path_key, number), node)?;
            }
            NodeChangeKind::Removed => {
                table.delete_range(txn, &node_key::start(&path_key), &node_key::end(&path_key))?;
            }
            NodeChangeKind::Cleared => table.delete_prefix(txn, &path_key)?,
        }
    }
    Ok(())
}
