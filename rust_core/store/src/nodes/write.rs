//! Writing the nodes of blocks.

use foreseal_state::StateChanges;
use foreseal_trie::{NodeChange, NodeChangeKind};
use heed::RwTxn;

use super::{
    changes::{ChangedNode, NodeKeyChange, NodeKeys},
    node_key::{self, Kind},
    prune::prune,
};
use crate::{chunks, error::StoreError, table::Tables, write_batch::WriteBatch};

/// Node versions that the blocks of one write create.
#[derive(Default)]
pub(crate) struct NodeWrites {
    accounts: WriteBatch,
    storages: WriteBatch,
}

impl NodeWrites {
    /// Adds the nodes of a block.
    pub fn add(
        &mut self,
        txn: &mut RwTxn<'_>,
        tables: &Tables,
        number: u64,
        nodes: &StateChanges,
    ) -> Result<(), StoreError> {
        let mut keys = NodeKeys::default();
        for change in &nodes.accounts {
            keys.accounts.push(push(&mut self.accounts, number, change.path.to_vec(), change));
        }
        for storage in &nodes.storages {
            for change in &storage.nodes {
                let location = node_key::in_storage(&storage.account, &change.path);
                keys.storages.push(push(&mut self.storages, number, location, change));
            }
        }
        if number == 0 {
            // Genesis is never unwound and precedes all windows; its list may be long.
            return Ok(());
        }
        chunks::append(txn, &tables.node_changes, number, &keys.encode())
    }

    /// Writes the added versions, and deletes versions at the same
    /// locations that no block from `oldest` on uses.
    pub fn write(self, txn: &mut RwTxn<'_>, tables: &Tables, oldest: u64) -> Result<(), StoreError> {
        for (kind, mut puts) in [(Kind::Accounts, self.accounts), (Kind::Storages, self.storages)] {
            let table = kind.table(tables);
            let mut last: Option<&[u8]> = None;
            for (key, value) in puts.sorted() {
                let (path_key, _) = node_key::split(table, key)?;
                if let Some(last) = last.replace(path_key).filter(|last| *last != path_key) {
                    prune(txn, table, last, oldest, 0)?;
                }
                table.put(txn, key, value)?;
            }
            if let Some(last) = last {
                prune(txn, table, last, oldest, 0)?;
            }
        }
        Ok(())
    }
}

fn push(puts: &mut WriteBatch, number: u64, location: Vec<u8>, change: &NodeChange) -> ChangedNode {
    let (value, change): (&[u8], _) = match &change.write {
        NodeChangeKind::Stored(node) => (node, NodeKeyChange::Stored),
        NodeChangeKind::Removed => (&[], NodeKeyChange::Removed),
        NodeChangeKind::Cleared => (&[], NodeKeyChange::Cleared),
    };
    puts.push(&node_key::key(&location, number), value);
    ChangedNode { location, change }
}
