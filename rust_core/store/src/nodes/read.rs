//! Reading nodes as of a block.

use alloy_primitives::{B256, Bytes};

use super::node_key::{self, Kind};
use crate::{error::StoreError, meta::Progress, read_transaction::ReadTransaction};

impl ReadTransaction<'_> {
    /// Returns the node at a path of the account trie as of a block.
    pub fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StoreError> {
        self.node(Kind::Accounts, path, at)
    }

    /// Returns the node at a path of the storage trie of the account with this hash as of a block.
    pub fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StoreError> {
        self.node(Kind::Storages, &node_key::in_storage(account, path), at)
    }

    fn node(&self, kind: Kind, location: &[u8], at: u64) -> Result<Option<Bytes>, StoreError> {
        Ok(self.stored_node(kind, location, at)?.map(|(_, node)| Bytes::copy_from_slice(node)))
    }

    /// Returns the node at a location as of a block, and the block that wrote it.
    pub fn stored_node(
        &self,
        kind: Kind,
        location: &[u8],
        at: u64,
    ) -> Result<Option<(u64, &[u8])>, StoreError> {
        let table = kind.table(self.tables);
        let Some((key, node)) = self.version(table, &node_key::key(location, at))? else { return Ok(None) };
        let (_, number) = node_key::split(table, key)?;
        Ok((!node.is_empty()).then_some((number, node)))
    }
}

impl Progress {
    /// Rejects a block whose nodes are no longer stored.
    pub(crate) fn check_proofs(&self, at: u64) -> Result<(), StoreError> {
        if at < self.proofs_from {
            return Err(StoreError::OutsideProofWindow { number: at, oldest: self.proofs_from });
        }
        Ok(())
    }

    /// Returns the first block that can be proved with a proof window of `window` blocks.
    pub(crate) fn oldest_provable_block_with(&self, window: u64) -> u64 {
        let next = self.head.map_or(0, |head| head.number + 1);
        self.proofs_from.max(next.saturating_sub(window.max(1)))
    }
}
