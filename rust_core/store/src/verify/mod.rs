//! Verification: compares the stored data with everything that can be recomputed from it.
//!
//! | module | comparison |
//! |---|---|
//! | `pages` | each page with its checksum; damage ends the verification, as the data is then incomplete |
//! | `blocks` | hash, parent, roots (transactions, receipts, withdrawals), bloom, senders, steps, indexes |
//! | `counts` | the numbers of entries with those that the blocks account for |
//! | `versions` | accounts, slots, incarnations and codes with the lists of what each block wrote |
//! | `flat` | the state roots of genesis and head, from the values alone |
//! | `nodes` | each trie node with its parent and its children, up to the state roots of the window |
//! | `logs` | the log index with the logs |
//!
//! It uses short transactions, so it may run concurrently with a node that writes. An
//! unwind of the verified view is an error.

mod blocks;
mod counts;
mod flat;
mod logs;
mod node;
mod nodes;
mod pages;
mod report;
mod versions;

use std::ops::ControlFlow;

use report::LISTED;
pub use report::{Fault, StorePart, VerifyProgress, VerifyReport};

use crate::{
    error::StoreError, read_transaction::ReadTransaction, reader::Reader, store::Store, table::Table,
};

/// Number of entries that are processed in one transaction.
const PORTION: usize = 10_000;

/// A verification in progress.
struct Verifier<'r> {
    reader: Reader,
    head: u64,
    /// See [`StoreOptions::withdrawals_in_state`](crate::StoreOptions::withdrawals_in_state).
    withdrawals_in_state: bool,
    verified: VerifyReport,
    report: &'r mut dyn FnMut(VerifyProgress) -> ControlFlow<()>,
}

impl Store {
    /// Compares the stored data with everything that can be recomputed from it. Damage is part of the result,
    /// not an error. `report` may interrupt the verification.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read at all, or if blocks were unwound
    /// meanwhile, and [`StoreError::Interrupted`].
    pub fn verify(
        &self,
        report: &mut dyn FnMut(VerifyProgress) -> ControlFlow<()>,
    ) -> Result<VerifyReport, StoreError> {
        let damaged = pages::verify(self, report)?;
        if !damaged.is_clean() {
            return Ok(damaged);
        }
        let reader = self.reader()?;
        let Some(head) = reader.progress()?.head else { return Ok(VerifyReport::default()) };
        let verified = VerifyReport { head: Some(head), ..VerifyReport::default() };
        let withdrawals_in_state = self.options().withdrawals_in_state;
        let mut verifier = Verifier { reader, head: head.number, withdrawals_in_state, verified, report };
        verifier.blocks()?;
        verifier.versions()?;
        verifier.state_roots()?;
        verifier.nodes()?;
        verifier.log_index()?;
        Ok(verifier.verified)
    }
}

impl Verifier<'_> {
    fn fault(&mut self, fault: Fault) {
        self.verified.fault_count += 1;
        if self.verified.faults.len() < LISTED {
            self.verified.faults.push(fault);
        }
    }

    fn faults(&mut self, faults: impl IntoIterator<Item = Fault>) {
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// Records damage as a fault and returns `None` for it.
    fn sound<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let mut faults = Vec::new();
        let value = sound(&mut faults, result)?;
        self.faults(faults);
        Ok(value)
    }

    /// Visits every entry of a table, `portion` of them per transaction. After each transaction, calls `done`
    /// with the number of visited entries and the total number.
    fn walk(
        &mut self,
        table: &Table,
        portion: usize,
        mut each: impl FnMut(&ReadTransaction<'_>, &[u8], &[u8], &mut Vec<Fault>) -> Result<(), StoreError>,
        mut done: impl FnMut(&mut Self, u64, u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut seen, mut next) = (0, Some(Vec::new()));
        while let Some(from) = next {
            let reader = self.reader.clone();
            let (faults, of, after) = reader.read(|read_txn, _| {
                let (mut faults, mut after) = (Vec::new(), None);
                for (count, entry) in table.from(read_txn.txn, &from)?.enumerate() {
                    let (key, value) = entry?;
                    if count == portion {
                        after = Some(key.to_vec());
                        break;
                    }
                    seen += 1;
                    each(read_txn, key, value, &mut faults)?;
                }
                Ok((faults, table.stat(read_txn.txn)?.entries as u64, after))
            })?;
            self.faults(faults);
            done(self, seen, of)?;
            next = after;
        }
        Ok(())
    }

    fn done(&mut self, part: StorePart, done: u64, of: u64) -> Result<(), StoreError> {
        match (self.report)(VerifyProgress { part, done, of: of.max(done) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreError::Interrupted),
        }
    }
}

/// Returns a fault of a table's entry.
fn fault(table: &Table, key: &[u8], why: impl Into<String>) -> Fault {
    Fault { table: table.name, key: key.to_vec(), why: why.into() }
}

/// Same as [`Verifier::sound`], for use inside a transaction.
fn sound<T>(faults: &mut Vec<Fault>, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Damaged { table, key, why }) => {
            faults.push(Fault { table, key, why: why.to_owned() });
            Ok(None)
        }
        Err(StoreError::DamagedPage { table, key, page }) => {
            faults.push(Fault { table, key, why: format!("page {page} fails its checksum") });
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns `None` for damage, which is recorded as a separate fault by the check of the damaged entry.
fn readable<T>(result: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    Ok(sound(&mut Vec::new(), result)?.flatten())
}
