//! Writing the nodes of blocks.

use foreseal_state::StateChanges;
use foreseal_trie::{NodeChange, NodeWrite};
use heed::RwTxn;

use super::{
    changes::{ChangedNode, NodeKeyChange, NodeKeys},
    node_key::{self, Kind},
    prune::prune,
};
use crate::{StoreError, chunks, puts::Puts, table::Tables};

/// Node versions that the blocks of one write create.
#[derive(Default)]
pub(crate) struct NodeWrites {
    accounts: Puts,
    storages: Puts,
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
                let place = node_key::in_storage(&storage.account, &change.path);
                keys.storages.push(push(&mut self.storages, number, place, change));
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
                let (place, _) = node_key::split(table, key)?;
                if let Some(last) = last.replace(place).filter(|last| *last != place) {
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

fn push(puts: &mut Puts, number: u64, place: Vec<u8>, change: &NodeChange) -> ChangedNode {
    let (value, change): (&[u8], _) = match &change.write {
        NodeWrite::Stored(node) => (node, NodeKeyChange::Stored),
        NodeWrite::Gone => (&[], NodeKeyChange::Gone),
        NodeWrite::Cleared => (&[], NodeKeyChange::Cleared),
    };
    puts.push(&node_key::key(&place, number), value);
    ChangedNode { place, change }
}
