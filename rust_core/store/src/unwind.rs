//! Unwinding blocks.

mod rewind;

use foreseal_state::StateChanges;

use crate::{
    block::unwind::{restore_step_window, unwind_block},
    error::StoreError,
    meta,
    meta::StoredHead,
    nodes,
    read_transaction::ReadTransaction,
    state,
    store::Store,
};

/// Treatment of the trie nodes in an unwind.
enum NodeUnwind {
    /// The versions of the unwound blocks are removed; those before them are still stored.
    Removed,
    /// The versions of the new head are computed from the newest ones.
    Rewound(StateChanges),
}

impl Store {
    /// Removes every block above `to` and all its changes, in one transaction. Existing readers return
    /// [`StoreError::ViewGone`] from then on. The journal then counts as applied up to `journal_sequence`.
    ///
    /// If the store has no block above `to`, only the sequence number and the note are written. If `to` had
    /// left the proof window, blocks before `to` can no longer be proved.
    pub fn unwind(&self, to: u64, journal_sequence: u64, writer_metadata: &[u8]) -> Result<(), StoreError> {
        let nodes = self.plan_nodes(to)?;
        self.commit(|txn, progress| {
            progress.journal_sequence = journal_sequence;
            let tables = self.tables();
            meta::write_writer_metadata(&tables.meta, txn, writer_metadata)?;
            let Some(head) = progress.head.filter(|head| head.number > to) else { return Ok(()) };
            if let NodeUnwind::Rewound(back) = &nodes {
                // Below a cleared location no version records the removal; only the lists do.
                nodes::prune_proof_window(txn, tables, progress, head.number)?;
                rewind::rewind(txn, tables, to, back)?;
                progress.proofs_from = to;
            }
            for number in (to + 1..=head.number).rev() {
                if matches!(nodes, NodeUnwind::Removed) {
                    nodes::unwind_block(txn, tables, number)?;
                }
                state::unwind_block(txn, tables, number)?;
                unwind_block(txn, tables, progress, number)?;
            }
            let (hash, _) = ReadTransaction::new(txn, tables).existing_record(to)?;
            progress.head = Some(StoredHead { number: to, hash });
            progress.generation += 1;
            let mut unwinds = meta::unwinds(&tables.meta, txn)?;
            unwinds.add(progress.generation, to);
            meta::write_unwinds(&tables.meta, txn, &unwinds)?;
            restore_step_window(txn, tables, progress, self.options().step_window)
        })
    }

    fn plan_nodes(&self, to: u64) -> Result<NodeUnwind, StoreError> {
        let progress = self.progress()?;
        match progress.head {
            Some(head) if to < progress.proofs_from => {
                Ok(NodeUnwind::Rewound(rewind::rewind_nodes(&self.reader()?, to, head.number)?))
            }
            _ => Ok(NodeUnwind::Removed),
        }
    }
}
