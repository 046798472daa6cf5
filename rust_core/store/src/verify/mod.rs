//! Everything that can be computed again from what is stored, compared with what is stored.
//!
//! | part | compared |
//! |---|---|
//! | `pages` | each page with its checksum; damaged ones end the verification, as the rest cannot be read whole |
//! | `blocks` | hashes, parents, roots of transactions, receipts and withdrawals, blooms, senders, steps; what finds them by hash |
//! | `counts` | nothing more is stored than the blocks account for |
//! | `versions` | accounts, slots, incarnations and codes with the lists of what each block wrote |
//! | `flat` | the state roots of genesis and head, from the values alone |
//! | `nodes` | each trie node with its parent and its children, up to the state roots of the window |
//! | `logs` | the log index with the logs |
//!
//! It works in short transactions, so it may run beside a node that writes; a view that is unwound under it is an error.

mod blocks;
mod counts;
mod flat;
mod logs;
mod node;
mod nodes;
mod pages;
mod versions;

use std::ops::ControlFlow;

use crate::{Head, Reader, Store, StoreError, snapshot::Snapshot, table::Table};

/// Faults that are listed; more are counted.
const LISTED: usize = 1_000;
/// Entries that are looked at in one transaction.
const PORTION: usize = 10_000;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub table: &'static str,
    /// The entry; a part of its key if several are meant.
    pub key: Vec<u8>,
    pub why: String,
}

/// What is being compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Pages,
    Blocks,
    Versions,
    StateRoot,
    Nodes,
    Logs,
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verifying {
    pub part: Part,
    /// Blocks, entries or logs done.
    pub done: u64,
    /// How many there are; an estimate beside a node that writes.
    pub of: u64,
}

/// What a verification came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The newest block that was looked at; `None` for a store without blocks.
    pub head: Option<Head>,
    /// The first thousand faults.
    pub faults: Vec<Fault>,
    /// How many there are.
    pub fault_count: u64,
    pub transactions: u64,
    pub logs: u64,
    /// Accounts and slots that are not zero at the head.
    pub accounts: u64,
    pub slots: u64,
    /// Trie nodes, all versions.
    pub nodes: u64,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.fault_count == 0
    }
}

/// A verification under way.
struct Verifier<'r> {
    reader: Reader,
    head: u64,
    verified: Verified,
    report: &'r mut dyn FnMut(Verifying) -> ControlFlow<()>,
}

impl Store {
    /// Compares what is stored with what follows from it. Damage is reported, not an error. `report` may break it off.
    ///
    /// # Errors
    /// When the store cannot be read at all, or blocks were unwound meanwhile; [`StoreError::Interrupted`].
    pub fn verify(
        &self,
        report: &mut dyn FnMut(Verifying) -> ControlFlow<()>,
    ) -> Result<Verified, StoreError> {
        let damaged = pages::verify(self, report)?;
        if !damaged.is_clean() {
            return Ok(damaged);
        }
        let reader = self.reader()?;
        let Some(head) = reader.progress()?.head else { return Ok(Verified::default()) };
        let verified = Verified { head: Some(head), ..Verified::default() };
        let mut verifier = Verifier { reader, head: head.number, verified, report };
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

    /// Damage becomes a fault, and nothing is returned.
    fn sound<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let mut faults = Vec::new();
        let value = sound(&mut faults, result)?;
        self.faults(faults);
        Ok(value)
    }

    /// Looks at every entry of a table, so many in one transaction; `done` hears after each how many were looked at and
    /// how many there are.
    fn walk(
        &mut self,
        table: &Table,
        portion: usize,
        mut each: impl FnMut(&Snapshot<'_>, &[u8], &[u8], &mut Vec<Fault>) -> Result<(), StoreError>,
        mut done: impl FnMut(&mut Self, u64, u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut seen, mut next) = (0, Some(Vec::new()));
        while let Some(from) = next {
            let reader = self.reader.clone();
            let (faults, of, after) = reader.read(|snapshot, _| {
                let (mut faults, mut after) = (Vec::new(), None);
                for (count, entry) in table.from(snapshot.txn, &from)?.enumerate() {
                    let (key, value) = entry?;
                    if count == portion {
                        after = Some(key.to_vec());
                        break;
                    }
                    seen += 1;
                    each(snapshot, key, value, &mut faults)?;
                }
                Ok((faults, table.stat(snapshot.txn)?.entries as u64, after))
            })?;
            self.faults(faults);
            done(self, seen, of)?;
            next = after;
        }
        Ok(())
    }

    fn done(&mut self, part: Part, done: u64, of: u64) -> Result<(), StoreError> {
        match (self.report)(Verifying { part, done, of: of.max(done) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreError::Interrupted),
        }
    }
}

/// A fault of a table's entry.
fn fault(table: &Table, key: &[u8], why: impl Into<String>) -> Fault {
    Fault { table: table.name, key: key.to_vec(), why: why.into() }
}

/// As [`Verifier::sound`], inside a transaction.
fn sound<T>(faults: &mut Vec<Fault>, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Damaged { table, key, why }) => {
            faults.push(Fault { table, key, why: why.to_owned() });
            Ok(None)
        }
        Err(StoreError::DamagedPage { table, key, page }) => {
            faults.push(Fault { table, key, why: format!("page {page} does not have its checksum") });
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Nothing for what is damaged: it is a fault of its own, found where it is looked at for itself.
fn readable<T>(result: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    Ok(sound(&mut Vec::new(), result)?.flatten())
}
