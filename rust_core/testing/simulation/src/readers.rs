//! Clients: readers that hold a view, and subscribers that follow the feed.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    sync::Arc,
};

use alloy_primitives::{Address, B256};
use foreseal_chain::{BlockAtStep, BlockId, Change, FeedError, ResolveError, StepCursor, View, changes};
use foreseal_state::{StateError, StateReader};

use crate::ledger::{Check, Ledger};

/// A view that a reader holds.
pub struct HeldView {
    view: Arc<View>,
    answers: u64,
    /// Value of `Run::unwinds` when the view was loaded.
    unwinds: u64,
    /// Numbers of the blocks that the reader requests.
    blocks: [u64; 2],
}

impl HeldView {
    /// Holds `view` and records its results; `chance` selects the old blocks that are read.
    pub fn load(view: Arc<View>, unwinds: u64, chance: u64, accounts: &[Address]) -> Result<Self, String> {
        let sealed = view.latest().number() + 1;
        let blocks = [chance % sealed, (chance >> 32) % sealed];
        let answers = answers(&view, blocks, accounts).map_err(|error| format!("a new view: {error}"))?;
        Ok(Self { view, answers, unwinds, blocks })
    }

    /// Reads everything again. Checks that the results are unchanged, or that the view is gone after an
    /// unwind.
    pub fn check(&self, unwinds: u64, accounts: &[Address]) -> Check {
        let (number, index) = (self.view.pending().number(), self.view.pending_index());
        match answers(&self.view, self.blocks, accounts) {
            Ok(answers) if answers == self.answers => Ok(()),
            Ok(_) => Err(format!("the view of step {number}.{index} answers otherwise than before")),
            Err(ResolveError::Read(StateError::ViewGone)) if unwinds > self.unwinds => Ok(()),
            Err(error) => Err(format!("the view of step {number}.{index}: {error}")),
        }
    }
}

/// Returns a hash of the results of reads from a view.
fn answers(view: &View, blocks: [u64; 2], accounts: &[Address]) -> Result<u64, ResolveError> {
    let mut hasher = DefaultHasher::new();
    let pending = view.pending();
    (pending.block.hash, view.pending_index(), view.safe(), view.finalized()).hash(&mut hasher);
    let numbers = blocks.map(BlockId::Number);
    for id in [BlockId::Pending, BlockId::Latest, BlockId::Safe].into_iter().chain(numbers) {
        let executed = view.resolve(id)?;
        (executed.number(), executed.block.hash, executed.block.transactions.len()).hash(&mut hasher);
        for account in executed.state.accounts(accounts)? {
            account.map(|account| (account.nonce, account.balance)).hash(&mut hasher);
        }
        for transaction in executed.block.transactions.iter().take(2) {
            let inclusion = view.transaction(&transaction.hash())?;
            inclusion.map(|(block, index)| (block.number(), index)).hash(&mut hasher);
        }
        let first = view.resolve(BlockId::Step { number: executed.number(), index: 0 });
        first.ok().map(|step| step.block.hash).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// A notification that a subscriber received.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReaderEvent {
    /// Block number, index, hash, and the transactions that the step adds.
    Step(u64, u64, B256, Vec<B256>),
    Sealed(u64, B256),
}

/// A subscriber: the notifications that were not removed again, and its cursor.
#[derive(Clone)]
pub struct Client {
    list: Vec<ReaderEvent>,
    cursor: StepCursor,
    /// Number of changes that it applied.
    pub changes: u64,
}

/// Returns the notifications that lead to the content of the ledger.
fn expected_events(ledger: &Ledger) -> Vec<ReaderEvent> {
    let mut list = Vec::new();
    for block in &ledger.blocks {
        let mut first = 0;
        for (index, &(hash, count)) in (0..).zip(&block.steps) {
            let own = block.transactions[first..count].iter().map(|included| included.hash).collect();
            list.push(ReaderEvent::Step(block.number, index, hash, own));
            first = count;
        }
        if block.sealed {
            list.push(ReaderEvent::Sealed(block.number, block.steps[block.steps.len() - 1].0));
        }
    }
    list
}

fn step(step: &BlockAtStep) -> ReaderEvent {
    let own = step.block.transactions.iter().skip(step.first).map(|one| one.hash()).collect();
    ReaderEvent::Step(step.block.header.number, step.index, step.block.hash, own)
}

impl Client {
    /// Creates a subscriber that has received everything so far.
    pub fn new(ledger: &Ledger, view: &View) -> Self {
        Self { list: expected_events(ledger), cursor: view.cursor(), changes: 0 }
    }

    fn apply(&mut self, change: &Change, after: StepCursor) -> Check {
        let revoked = match change {
            Change::Step(new) => {
                self.list.push(step(new));
                None
            }
            Change::Sealed(block) => {
                self.list.push(ReaderEvent::Sealed(block.header.number, block.hash));
                None
            }
            Change::Removed(old) => Some(step(old)),
            Change::Unsealed(block) => Some(ReaderEvent::Sealed(block.header.number, block.hash)),
        };
        (self.cursor, self.changes) = (after, self.changes + 1);
        match revoked {
            Some(revoked) if self.list.pop().as_ref() != Some(&revoked) => {
                Err(format!("a subscriber is told to forget {revoked:?}, which is not its newest"))
            }
            _ => Ok(()),
        }
    }

    /// Catches up from its cursor. If `compare` is set, checks that the result is the published chain, in
    /// order and without repetitions. `trimmed` is `true` if the journal has lost its beginning.
    pub fn follow(&mut self, view: &View, ledger: &Ledger, (compare, trimmed): (bool, bool)) -> Check {
        let (from, mut fault) = (self.cursor, None);
        let reached = changes(view, from, &mut |change, after| {
            if let Err(what) = self.apply(&change, after) {
                fault.get_or_insert(what);
            }
            ControlFlow::Continue(())
        });
        match reached {
            Err(FeedError::Read(error)) => return Err(format!("the feed cannot be read: {error}")),
            // Removed steps are available only as long as the journal contains them.
            Err(FeedError::CursorGone { .. }) if trimmed && !ledger.holds(from.number, from.hash) => {
                *self = Self { changes: self.changes, ..Self::new(ledger, view) };
                return Ok(());
            }
            Err(error @ FeedError::CursorGone { .. }) => {
                return Err(format!("the cursor {from:?} was shown: {error}"));
            }
            Ok(_) => {}
        }
        if !compare {
            self.list = expected_events(ledger);
            return Ok(());
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        if self.list == expected_events(ledger) {
            Ok(())
        } else {
            Err(format!("a subscriber at {from:?} was told another chain than was shown"))
        }
    }
}
