//! Submissions of every kind.

use alloy_primitives::Bytes;
use foreseal_pool::PoolError;
use foreseal_replication::SubmitError;
use foreseal_state::StateReader;

use crate::{
    ledger::Check,
    run::Run,
    senders::{TransactionSpec, WALLETS},
    submission_kind::SubmissionKind,
};

impl Run {
    /// Submits a transaction and checks that the response is one that its kind allows.
    pub fn submit(&mut self, submission: SubmissionKind, sender: usize, chance: u64) -> Check {
        let node = self.node()?.clone();
        let address = self.senders.address(sender);
        let view = self.view()?;
        let account = view.pending().state.account(&address).map_err(|error| error.to_string())?;
        let used = account.map_or(0, |account| account.nonce);
        let next = node.pool().next_nonce(&address, used);
        let order =
            TransactionSpec { wallet: sender, nonce: next, kind: chance % 11, tip: 1 + chance / 11 % 3 };
        let raw = match submission {
            SubmissionKind::Next => self.senders.sign(order),
            SubmissionKind::Gap => self.senders.sign(TransactionSpec { nonce: next + 2, ..order }),
            SubmissionKind::Instead { enough } => {
                let tip = if enough { order.tip + 4 } else { 1 };
                self.senders.sign(TransactionSpec { nonce: used, tip, ..order })
            }
            SubmissionKind::Again => match self.senders.any_accepted(chance) {
                Some(raw) => raw.clone(),
                None => return Ok(()),
            },
            SubmissionKind::Stale => match used.checked_sub(1) {
                Some(nonce) => self.senders.sign(TransactionSpec { nonce, kind: 3, tip: 3, ..order }),
                None => return Ok(()),
            },
            SubmissionKind::Poor => self.senders.sign(TransactionSpec { wallet: WALLETS, nonce: 0, ..order }),
            SubmissionKind::Garbage => self.garbage(order, chance),
            SubmissionKind::Blob => self.senders.blob(sender, next),
        };
        let answer = node.submit(&raw);
        let expected = match (submission, &answer) {
            (SubmissionKind::Next, answer) => answer.is_ok(),
            // After an unwind or the loss of the pool, the transaction may be accepted again.
            (SubmissionKind::Again, answer) => {
                answer.is_err() || self.setup.development || self.counts.restarts > 0
            }
            (SubmissionKind::Stale, Err(SubmitError::Refused(error))) => {
                matches!(error, PoolError::NonceTooLow { .. } | PoolError::AlreadyKnown)
            }
            (SubmissionKind::Poor, Err(SubmitError::Refused(error))) => {
                matches!(error, PoolError::InsufficientFunds { .. })
            }
            (SubmissionKind::Stale | SubmissionKind::Poor, _) => false,
            (SubmissionKind::Garbage, answer) => answer.is_err(),
            (SubmissionKind::Gap | SubmissionKind::Instead { .. } | SubmissionKind::Blob, _) => true,
        };
        if let Ok(hash) = &answer {
            self.senders.record_accepted(&raw, *hash);
        }
        if expected {
            Ok(())
        } else {
            Err(format!("a submission ({submission:?}) is answered with {answer:?}"))
        }
    }

    /// Returns a transaction with an unknown type byte, or a truncated one.
    fn garbage(&self, order: TransactionSpec, chance: u64) -> Bytes {
        let mut bytes = self.senders.sign(order).to_vec();
        let at = usize::try_from(chance >> 8).unwrap_or(0) % bytes.len();
        if chance.is_multiple_of(2) {
            bytes.truncate(at);
        } else {
            // Only the type byte: a change of another byte may produce a valid transaction of another sender.
            bytes[0] = 0x7f;
        }
        bytes.into()
    }
}
