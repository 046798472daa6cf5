//! Wait for the receipt of a submitted transaction (EIP-7966).

use std::time::Duration;

use alloy_primitives::B256;
use foreseal_chain::ReadMode;
use foreseal_node::Node;
use foreseal_pool::{Admission, PoolError, QueuedReason, Status};
use foreseal_replication::SubmitError;

use super::receipt::receipt_within;
use crate::errors::error::{Error, SyncError};

/// Outcome of a submission whose caller waits for the receipt.
#[derive(Debug)]
pub enum ReceiptOutcome {
    /// Receipt as JSON.
    Ready(Vec<u8>),
    Waiting(ReceiptWait),
}

/// Submitted transaction with a caller that waits for the receipt.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptRequest {
    pub hash: B256,
    pub nonce: u64,
    pub timeout: Duration,
    /// Maximum size of the receipt as JSON, in bytes.
    pub max_size: usize,
    /// Mode of the caller's endpoint: it decides if a step is enough.
    pub mode: ReadMode,
}

impl ReceiptRequest {
    /// Continues after the result of the submission.
    pub fn submitted(
        self,
        node: &Node,
        admission: Result<Admission, SubmitError>,
    ) -> Result<ReceiptOutcome, Error> {
        let Self { hash, nonce, timeout, max_size, mode } = self;
        let waiting = match admission {
            Ok(Admission::Added(_)) => None,
            Ok(Admission::WouldQueue(waiting)) => Some(waiting),
            Err(SubmitError::Refused(PoolError::AlreadyKnown)) => match node.pool().status(&hash) {
                Status::Queued(waiting) => Some(waiting),
                Status::Pooled | Status::Dropped(_) | Status::Replaced { .. } | Status::Unknown => None,
            },
            Err(error) => {
                // Another caller may have submitted it, and it may have been executed after the previous read
                // of the view.
                let view = node.view().ok_or(Error::Starting)?.in_mode(mode);
                let receipt = receipt_within(&view, &hash, max_size)?;
                return receipt.map(ReceiptOutcome::Ready).ok_or(error.into());
            }
        };
        match waiting {
            None => {
                let deadline = node.now().monotonic.saturating_add(timeout);
                Ok(ReceiptOutcome::Waiting(ReceiptWait { hash, timeout, deadline, max_size, mode }))
            }
            Some(QueuedReason::NonceGap { expected }) => Err(SyncError::NonceGap { nonce, expected }.into()),
            Some(waiting) => Err(SyncError::NotExecutable { hash, reason: waiting.to_string() }.into()),
        }
    }
}

/// Transaction in the pool with a caller that waits for its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptWait {
    hash: B256,
    timeout: Duration,
    /// Deadline on the node's monotonic clock.
    deadline: Duration,
    /// Maximum size of the receipt as JSON, in bytes.
    max_size: usize,
    mode: ReadMode,
}

impl ReceiptWait {
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
        let removed =
            if node.pool().contains(&hash) { None } else { removal_reason(&node.pool().status(&hash)) };
        let view = node.view().ok_or(Error::Starting)?.in_mode(self.mode);
        match receipt_within(&view, &hash, self.max_size) {
            Ok(Some(receipt)) => return Ok(Some(receipt)),
            // The cause is reported: a fault that ended production may have damaged the store as well.
            Err(error) if production.is_ok() => return Err(error),
            Ok(None) | Err(_) => {}
        }
        if let Some(reason) = removed {
            return Err(SyncError::NotExecutable { hash, reason }.into());
        }
        production?;
        if node.now().monotonic >= self.deadline {
            return Err(self.abandon());
        }
        Ok(None)
    }

    /// Returns the error for a caller that stops waiting.
    pub fn abandon(&self) -> Error {
        SyncError::Timeout { hash: self.hash, waited: self.timeout }.into()
    }
}

/// Returns the reason for which a transaction left the pool.
///
/// Returns `None` for an unknown transaction, which may be in transit from the pool to the view.
fn removal_reason(status: &Status) -> Option<String> {
    match status {
        Status::Dropped(reason) => Some(reason.to_string()),
        Status::Replaced { by } => Some(format!("replaced by {by}")),
        Status::Pooled | Status::Queued(_) | Status::Unknown => None,
    }
}
