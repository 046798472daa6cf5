//! Taking blocks back.

use crate::{
    Head, Store, StoreError,
    block::unwind::{remember_steps, unwind_block},
    meta,
    snapshot::Snapshot,
    state,
};

impl Store {
    /// Removes every block above `to` and all that they changed, in one transaction; readers of before answer
    /// [`StoreError::ViewGone`] from then on. The journal is applied up to `journal_sequence` then.
    ///
    /// If the store has no block above `to`, only the sequence number and the note are taken.
    pub fn unwind(&self, to: u64, journal_sequence: u64, note: &[u8]) -> Result<(), StoreError> {
        self.commit(|txn, progress| {
            progress.journal_sequence = journal_sequence;
            let tables = self.tables();
            meta::write_note(&tables.meta, txn, note)?;
            let Some(head) = progress.head.filter(|head| head.number > to) else { return Ok(()) };
            for number in (to + 1..=head.number).rev() {
                state::unwind_block(txn, tables, number)?;
                unwind_block(txn, tables, progress, number)?;
            }
            let (hash, _) = Snapshot { txn, tables }.known_record(to)?;
            progress.head = Some(Head { number: to, hash });
            progress.generation += 1;
            remember_steps(txn, tables, progress, self.options().step_window)
        })
    }
}
