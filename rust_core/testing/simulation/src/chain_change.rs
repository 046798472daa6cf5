//! Changes that only a development chain accepts.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use foreseal_node::{ControlError, DevelopmentControl, Sequencer};
use foreseal_primitives::{Change as Write, Override, Transaction};
use foreseal_state::StateReader;

use crate::{
    action::ChainChange,
    ledger::{Check, Ledger, Rules},
    run::Run,
    senders::TransactionSpec,
};

/// Account for which no key exists.
const ACCOUNT: Address = Address::repeat_byte(0x77);

/// Returns the name of a change in the counts.
fn name(change: ChainChange) -> &'static str {
    match change {
        ChainChange::Unwind { .. } => "unwind under readers",
        ChainChange::Reorg { .. } => "reorg under readers",
        ChainChange::Revert { .. } => "return to a snapshot under readers",
        ChainChange::Mine { .. } | ChainChange::Increase { .. } | ChainChange::BaseFee { .. } => {
            "block built again under readers"
        }
        ChainChange::Write { .. } => "state written at will",
        ChainChange::Snapshot => "snapshot",
    }
}

/// Outcome of a change.
enum ChangeOutcome {
    /// The chain was extended or is unchanged.
    Onward,
    /// The chain may differ beyond what [`Run::planned`] returned.
    Another,
    /// The chain equals this ledger.
    Back(Ledger),
    Rejected,
    /// The process or production ended during the change.
    BrokeOff,
}

impl Run {
    /// Requests a change from the writer, and checks that it took effect completely or not at all.
    pub fn change(&mut self, change: ChainChange) -> Check {
        self.instead = self.planned(change);
        let before = self.view()?;
        self.fault_plan().counts.fault(name(change));
        let done = self.apply_change(change)?;
        if matches!(done, ChangeOutcome::BrokeOff) {
            self.unwinds += 1;
            return self.settle();
        }
        let view = self.view()?;
        let rules = Rules { sealed_as_shown: false, ..Run::rules() };
        let mut ledger = match (&done, self.instead.take()) {
            (ChangeOutcome::Another | ChangeOutcome::Back(_), Some(instead)) => {
                self.unwinds += 1;
                instead
            }
            _ => self.ledger.clone(),
        };
        if matches!(done, ChangeOutcome::Rejected) && !Arc::ptr_eq(&before, &view) {
            return Err(format!("{change:?} was refused and changed something"));
        }
        ledger.follow(&view, rules)?;
        if let ChangeOutcome::Back(expected) = done
            && ledger != expected
        {
            return Err("a revert did not bring back what was shown when the snapshot was taken".to_owned());
        }
        self.ledger = ledger;
        self.settle()
    }

    /// Returns the part of the chain that remains after the change; `None` if all of it does.
    fn planned(&self, change: ChainChange) -> Option<Ledger> {
        let latest = self.ledger.size().1;
        match change {
            ChainChange::Unwind { depth } => Some(self.ledger.back_to(latest.saturating_sub(depth))),
            ChainChange::Reorg { depth, .. } => Some(self.ledger.back_to(latest.checked_sub(depth as u64)?)),
            // These changes rebuild the pending block.
            ChainChange::BaseFee { .. } | ChainChange::Mine { .. } | ChainChange::Increase { .. } => {
                Some(self.ledger.back_to(latest))
            }
            ChainChange::Revert { newest_but } => {
                let at = self.snapshots.len().checked_sub(newest_but + 1)?;
                let (_, then) = &self.snapshots[at];
                Some(then.back_to(then.size().1))
            }
            ChainChange::Write { .. } | ChainChange::Snapshot => None,
        }
    }

    fn apply_change(&mut self, change: ChainChange) -> Result<ChangeOutcome, String> {
        let done = match change {
            ChainChange::Unwind { depth } => {
                self.control(|writer| writer.unwind(writer.height().saturating_sub(depth)))
            }
            ChainChange::Reorg { depth, transactions } => {
                let blocks = vec![self.next_transactions(transactions)?; depth];
                self.develop(|development| development.reorg(&blocks))
            }
            ChainChange::BaseFee { wei } => self.develop(|development| development.set_base_fee(wei)),
            ChainChange::Mine { blocks, interval } => {
                self.develop(|development| development.mine(blocks, interval))
            }
            ChainChange::Write { balance } => {
                self.written = true;
                let change = Override { address: ACCOUNT, change: Write::Balance(U256::from(balance)) };
                self.develop(|development| development.write(&change))
            }
            ChainChange::Increase { seconds } => {
                self.develop(|development| development.increase_time(seconds).map(drop))
            }
            ChainChange::Snapshot => {
                let mut number = None;
                let done = self.develop(|development| development.snapshot().map(|id| number = Some(id)));
                self.snapshots.extend(number.map(|number| (number, self.ledger.clone())));
                done
            }
            ChainChange::Revert { newest_but } => return Ok(self.revert(newest_but)),
        };
        Ok(match (done, change) {
            (Some(Ok(())), ChainChange::Write { .. } | ChainChange::Snapshot) => ChangeOutcome::Onward,
            (Some(Ok(())), _) => ChangeOutcome::Another,
            (Some(Err(_)), _) if self.is_up() && self.failure().is_none() => ChangeOutcome::Rejected,
            _ => ChangeOutcome::BrokeOff,
        })
    }

    fn revert(&mut self, newest_but: usize) -> ChangeOutcome {
        let Some(at) = self.snapshots.len().checked_sub(newest_but + 1) else {
            return ChangeOutcome::Rejected;
        };
        let (number, then) = self.snapshots[at].clone();
        self.snapshots.truncate(at);
        let mut reverted = false;
        let done = self.develop(|development| development.revert(number).map(|done| reverted = done));
        match done {
            Some(Ok(())) if reverted => ChangeOutcome::Back(then),
            Some(Ok(())) => ChangeOutcome::Rejected,
            Some(Err(_)) if self.is_up() && self.failure().is_none() => ChangeOutcome::Rejected,
            _ => ChangeOutcome::BrokeOff,
        }
    }

    /// Returns transactions for a block, which may or may not be executable there.
    fn next_transactions(&mut self, count: u64) -> Result<Vec<Arc<Transaction>>, String> {
        let view = self.view()?;
        let account = view.latest().state.account(&self.senders.address(1)).map_err(|e| e.to_string())?;
        let used = account.map_or(0, |account| account.nonce);
        let order = |nonce| TransactionSpec { wallet: 1, nonce, kind: nonce % 5, tip: 2 };
        let transactions =
            (used..used + count).filter_map(|nonce| self.senders.create(order(nonce)).map(Arc::new));
        Ok(transactions.collect())
    }

    fn develop(
        &mut self,
        act: impl FnOnce(&mut DevelopmentControl<'_>) -> Result<(), ControlError>,
    ) -> Option<Result<(), ControlError>> {
        self.control(|sequencer| act(&mut sequencer.development()))
    }

    fn control(
        &mut self,
        act: impl FnOnce(&mut Sequencer) -> Result<(), ControlError>,
    ) -> Option<Result<(), ControlError>> {
        let node = self.process.as_ref()?.node.clone();
        crate::quietly(|| node.control(act))
    }
}
