//! `eth_sendRawTransactionSync` (EIP-7966): returns the receipt as soon as the transaction is pre-confirmed.

use std::time::Duration;

use alloy_primitives::{B256, Bytes};
use foreseal_node::{Node, SubmitError};
use foreseal_pool::{Admission, PoolError, Status, Waiting};

use crate::{
    Argument, Context, Error, Kind, Method, Reply, Wait,
    params::{Milliseconds, Params},
    transactions::receipt_of,
    wait::{Then, submit},
};

pub const METHODS: &[Method] = &[Method::waiting(
    "eth_sendRawTransactionSync",
    &[Argument::required("data", Kind::Data), Argument::optional("timeoutMs", Kind::Milliseconds).or("2000")],
    send_raw_transaction_sync,
)];

/// Default timeout, also used if the caller's value is invalid or too long.
const DEFAULT_TIME: Duration = Duration::from_secs(2);

/// Reason for which there is no receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    #[error("the transaction is in the pool, but was in no step within {} ms", waited.as_millis())]
    Timeout { hash: B256, waited: Duration },
    /// The pool rejected the transaction, or dropped it in the meantime.
    #[error("the transaction cannot be executed: {reason}")]
    NotExecutable { hash: B256, reason: String },
    /// The pool rejected the transaction.
    #[error("the transaction has nonce {nonce}, but the sender's next one is {expected}")]
    NonceGap { nonce: u64, expected: u64 },
}

/// Submits a transaction and waits for its receipt.
///
/// Submitting the same bytes again is not an error: the result is the existing receipt, or the one to come.
fn send_raw_transaction_sync(context: &Context<'_>, params: &mut Params<'_>) -> Result<Reply, Error> {
    let (raw, time): (Bytes, Option<Milliseconds>) = (params.required()?, params.optional()?);
    let node = context.node;
    let submission = node.decode(&raw)?;
    let (hash, nonce) = (submission.hash(), submission.nonce());
    if let Some(receipt) = receipt_of(&*context.newest_view()?, &hash)? {
        return Ok(Reply::Ready(receipt.into()));
    }
    let time = time_to_wait(time, context.limits.sync_time);
    submit(node, submission, true, Then::Receipt(Awaiting { hash, nonce, time }))
}

/// Submitted transaction with a caller that waits for the receipt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaiting {
    hash: B256,
    nonce: u64,
    time: Duration,
}

impl Awaiting {
    /// Continues after the result of the submission.
    pub fn answered(self, node: &Node, answer: Result<Admission, SubmitError>) -> Result<Reply, Error> {
        let Self { hash, nonce, time } = self;
        let waiting = match answer {
            Ok(Admission::Added(_)) => None,
            Ok(Admission::WouldWait(waiting)) => Some(waiting),
            Err(SubmitError::Refused(PoolError::AlreadyKnown)) => match node.pool().status(&hash) {
                Status::Queued(waiting) => Some(waiting),
                Status::Pooled | Status::Dropped(_) | Status::Replaced { .. } | Status::Unknown => None,
            },
            Err(error) => {
                // Another caller may have submitted it, and it may have been executed after the previous read
                // of the view.
                let view = node.view().ok_or(Error::Starting)?;
                return receipt_of(&view, &hash)?
                    .map(|receipt| Reply::Ready(receipt.into()))
                    .ok_or(error.into());
            }
        };
        match waiting {
            None => {
                let deadline = node.now().monotonic.saturating_add(time);
                Ok(Reply::Later(Wait::for_receipt(Awaited { hash, time, deadline })))
            }
            Some(Waiting::NonceGap { expected }) => Err(SyncError::NonceGap { nonce, expected }.into()),
            Some(waiting) => Err(SyncError::NotExecutable { hash, reason: waiting.to_string() }.into()),
        }
    }
}

/// Returns the requested timeout if it is valid and does not exceed the limit.
fn time_to_wait(asked: Option<Milliseconds>, limit: Duration) -> Duration {
    let asked = asked.and_then(|Milliseconds(time)| time).map(Duration::from_millis);
    asked.filter(|time| *time <= limit).unwrap_or(DEFAULT_TIME.min(limit))
}

/// Transaction in the pool with a caller that waits for its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    hash: B256,
    time: Duration,
    /// Deadline on the node's monotonic clock.
    deadline: Duration,
}

impl Awaited {
    /// Returns the deadline on the node's monotonic clock.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the receipt from the newest view, an error if there will be none, or `None` if neither is
    /// determined yet.
    pub fn poll(&self, node: &Node) -> Result<Option<Vec<u8>>, Error> {
        let hash = self.hash;
        // Read before the view, so that the view includes any step that removed the transaction from the pool
        // or preceded a failure of production.
        let production = node.check_production();
        let gone = if node.pool().contains(&hash) { None } else { departed(&node.pool().status(&hash)) };
        let view = node.view().ok_or(Error::Starting)?;
        if let Some(receipt) = receipt_of(&view, &hash)? {
            return Ok(Some(receipt));
        }
        if let Some(reason) = gone {
            return Err(SyncError::NotExecutable { hash, reason }.into());
        }
        production?;
        if node.now().monotonic >= self.deadline {
            return Err(self.give_up());
        }
        Ok(None)
    }

    /// Returns the error for a caller that stops waiting.
    pub fn give_up(&self) -> Error {
        SyncError::Timeout { hash: self.hash, waited: self.time }.into()
    }
}

/// Returns the reason for which a transaction left the pool.
///
/// Returns `None` for an unknown transaction, which may be in transit from the pool to the view.
fn departed(status: &Status) -> Option<String> {
    match status {
        Status::Dropped(reason) => Some(reason.to_string()),
        Status::Replaced { by } => Some(format!("replaced by {by}")),
        Status::Pooled | Status::Queued(_) | Status::Unknown => None,
    }
}
