//! Submissions of every kind.

use alloy_primitives::Bytes;
use foreseal_node::SubmitError;
use foreseal_pool::PoolError;
use foreseal_state::StateReader;

use crate::{
    act::Given,
    ledger::Check,
    run::Run,
    senders::{Order, WALLETS},
};

impl Run {
    /// Submits a transaction and checks that the response is one that its kind allows.
    pub fn submit(&mut self, given: Given, sender: usize, chance: u64) -> Check {
        let node = self.node()?.clone();
        let address = self.senders.address(sender);
        let view = self.view()?;
        let account = view.pending().state.account(&address).map_err(|error| error.to_string())?;
        let used = account.map_or(0, |account| account.nonce);
        let next = node.pool().next_nonce(&address, used);
        let order = Order { wallet: sender, nonce: next, kind: chance % 11, tip: 1 + chance / 11 % 3 };
        let raw = match given {
            Given::Next => self.senders.sign(order),
            Given::Gap => self.senders.sign(Order { nonce: next + 2, ..order }),
            Given::Instead { enough } => {
                let tip = if enough { order.tip + 4 } else { 1 };
                self.senders.sign(Order { nonce: used, tip, ..order })
            }
            Given::Again => match self.senders.taken(chance) {
                Some(raw) => raw.clone(),
                None => return Ok(()),
            },
            Given::Stale => match used.checked_sub(1) {
                Some(nonce) => self.senders.sign(Order { nonce, kind: 3, tip: 3, ..order }),
                None => return Ok(()),
            },
            Given::Poor => self.senders.sign(Order { wallet: WALLETS, nonce: 0, ..order }),
            Given::Garbage => self.garbage(order, chance),
            Given::Blob => self.senders.blob(sender, next),
        };
        let answer = node.submit(&raw);
        let expected = match (given, &answer) {
            (Given::Next, answer) => answer.is_ok(),
            // After an unwind or the loss of the pool, the transaction may be accepted again.
            (Given::Again, answer) => answer.is_err() || self.setup.development || self.counts.restarts > 0,
            (Given::Stale, Err(SubmitError::Refused(error))) => {
                matches!(error, PoolError::NonceTooLow { .. } | PoolError::AlreadyKnown)
            }
            (Given::Poor, Err(SubmitError::Refused(error))) => {
                matches!(error, PoolError::InsufficientFunds { .. })
            }
            (Given::Stale | Given::Poor, _) => false,
            (Given::Garbage, answer) => answer.is_err(),
            (Given::Gap | Given::Instead { .. } | Given::Blob, _) => true,
        };
        if let Ok(hash) = &answer {
            self.senders.take(&raw, *hash);
        }
        if expected { Ok(()) } else { Err(format!("a submission ({given:?}) is answered with {answer:?}")) }
    }

    /// Returns a transaction with an unknown type byte, or a truncated one.
    fn garbage(&self, order: Order, chance: u64) -> Bytes {
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
