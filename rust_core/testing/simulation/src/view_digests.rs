//! Digests of the views that the sequencer published.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use alloy_primitives::Address;
use foreseal_chain::{StepCursor, View};
use foreseal_state::{StateError, StateReader};

use crate::ledger::Check;

/// Digest of a view: its place in the chain, and a hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewDigest {
    cursor: StepCursor,
    answers: u64,
}

impl ViewDigest {
    /// Computes the digest over head, steps, roots, receipts and accounts of a view.
    pub fn compute(view: &View, accounts: &[Address]) -> Result<Self, StateError> {
        let mut hasher = DefaultHasher::new();
        (view.safe(), view.finalized(), view.pending_index()).hash(&mut hasher);
        for executed in [view.pending(), view.latest()] {
            let block = &executed.block;
            (executed.number(), block.hash, executed.state.root()).hash(&mut hasher);
            for step in &view.steps(executed)? {
                (step.hash, step.transactions).hash(&mut hasher);
            }
            for (transaction, receipt) in block.transactions.iter().zip(&block.receipts) {
                (transaction.hash(), receipt.cumulative_gas_used, receipt.gas_used).hash(&mut hasher);
                (receipt.status.coerce_status(), &receipt.logs).hash(&mut hasher);
            }
            for account in executed.state.accounts(accounts)? {
                account.map(|account| (account.nonce, account.balance)).hash(&mut hasher);
            }
        }
        Ok(Self { cursor: view.cursor(), answers: hasher.finish() })
    }
}

/// Digests of all views that the sequencer published, by the number of appends at that time.
pub struct ViewDigests {
    by_appends: Mutex<BTreeMap<u64, ViewDigest>>,
    accounts: Vec<Address>,
}

impl ViewDigests {
    pub fn new(accounts: Vec<Address>) -> Self {
        Self { by_appends: Mutex::default(), accounts }
    }

    /// Records a newly published view.
    pub fn record(&self, appends: u64, view: &View) -> Check {
        let shown =
            ViewDigest::compute(view, &self.accounts).map_err(|error| format!("a new view: {error}"))?;
        let before = self.lock().insert(appends, shown);
        match before {
            Some(before) if before != shown => {
                Err(format!("of {appends} appends it showed {:?} and then {:?}", before.cursor, shown.cursor))
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, ViewDigest>> {
        self.by_appends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that `view` equals the view that the sequencer published after `appends` appends.
    pub fn check(&self, appends: u64, view: &View) -> Check {
        let digest = match ViewDigest::compute(view, &self.accounts) {
            Ok(digest) => digest,
            // The store was unwound, and the follower has not received the unwind yet.
            Err(StateError::ViewGone) => return Ok(()),
            Err(error) => return Err(format!("a follower's view: {error}")),
        };
        let wanted = self.lock().range(..=appends).next_back().map(|(_, shown)| *shown);
        match wanted {
            Some(wanted) if wanted == digest => Ok(()),
            wanted => Err(format!(
                "of {appends} appends a follower shows {:?}, the sequencer showed {:?}",
                digest.cursor,
                wanted.map(|shown| shown.cursor)
            )),
        }
    }
}
