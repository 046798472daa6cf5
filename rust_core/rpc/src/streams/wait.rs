//! Calls whose result is not available yet.

use std::time::Duration;

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_node::{Node, Sent};
use foreseal_pool::{Admission, CheckedTransaction, UnverifiedTransaction};
use foreseal_replication::{SubmissionHandle, SubmitError};
use foreseal_scheduler::charge_ahead;
use parking_lot::Mutex;

use super::receipt_wait::{ReceiptOutcome, ReceiptRequest, ReceiptWait};
use crate::{errors::error::Error, json::hex::write_data};

/// Outcome of starting a call.
#[derive(Debug)]
pub enum Reply {
    /// Result as JSON.
    Ready(Bytes),
    Later(PendingCall),
    /// The submission passed all fast checks. The slow ones have a lane of their own.
    Verification(Box<PendingVerification>),
}

/// Waiting call: for the sequencer's response to a submission, or for a receipt.
#[derive(Debug)]
pub struct PendingCall(Mutex<Stage>);

#[derive(Debug)]
enum Stage {
    Answer(SubmissionHandle, AfterSubmission),
    Receipt(ReceiptWait),
}

/// Continuation after the response to a submission.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AfterSubmission {
    /// Returns the hash.
    Hash(B256),
    /// Waits for the receipt.
    Receipt(ReceiptRequest),
}

impl AfterSubmission {
    fn resume(self, node: &Node, answer: Result<Admission, SubmitError>) -> Result<Reply, Error> {
        match self {
            Self::Hash(hash) => {
                answer?;
                let mut out = Vec::with_capacity(68);
                write_data(&mut out, hash.as_slice());
                Ok(Reply::Ready(out.into()))
            }
            Self::Receipt(request) => Ok(match request.submitted(node, answer)? {
                ReceiptOutcome::Ready(receipt) => Reply::Ready(receipt.into()),
                ReceiptOutcome::Waiting(wait) => Reply::Later(PendingCall(Mutex::new(Stage::Receipt(wait)))),
            }),
        }
    }
}

/// Submission that passed all checks except the slow ones.
#[derive(Debug)]
pub struct PendingVerification {
    submission: UnverifiedTransaction,
    require_executable: bool,
    continuation: AfterSubmission,
}

impl PendingVerification {
    /// Charges the caller, verifies the submission, and submits it. The result is never
    /// [`Reply::Verification`].
    pub(crate) fn run(self, node: &Node) -> Result<Reply, Error> {
        let Self { submission, require_executable, continuation } = self;
        charge_ahead(submission.verification_time())?;
        let verified = submission.verify().map_err(SubmitError::from)?;
        send(node, verified, require_executable, continuation)
    }
}

/// Submits a transaction, to this node or the sequencer. If it has blobs or authorizations, checks it against the
/// state, and returns [`Reply::Verification`].
pub(crate) fn submit(
    node: &Node,
    submission: UnverifiedTransaction,
    require_executable: bool,
    continuation: AfterSubmission,
) -> Result<Reply, Error> {
    if submission.verification_time().is_zero() {
        let verified = submission.verify().map_err(SubmitError::from)?;
        return send(node, verified, require_executable, continuation);
    }
    match node.precheck(&submission) {
        Ok(()) => {
            let pending = PendingVerification { submission, require_executable, continuation };
            Ok(Reply::Verification(Box::new(pending)))
        }
        Err(error) => continuation.resume(node, Err(error)),
    }
}

fn send(
    node: &Node,
    submission: CheckedTransaction,
    require_executable: bool,
    continuation: AfterSubmission,
) -> Result<Reply, Error> {
    match node.send(submission, require_executable) {
        Ok(Sent::SubmissionHandle(underway)) => {
            Ok(Reply::Later(PendingCall(Mutex::new(Stage::Answer(underway, continuation)))))
        }
        Ok(Sent::Done(admission)) => continuation.resume(node, Ok(admission)),
        Err(error) => continuation.resume(node, Err(error)),
    }
}

impl PendingCall {
    /// Returns the deadline of the wait, on the node's monotonic clock.
    ///
    /// A wait for the sequencer has none: a response arrives or the connection breaks.
    pub fn deadline(&self) -> Duration {
        match &*self.0.lock() {
            Stage::Answer(..) => Duration::MAX,
            Stage::Receipt(wait) => wait.deadline(),
        }
    }

    /// Returns the result from the newest view, an error if there will be none, or `None` if neither is
    /// determined yet.
    ///
    /// Call it after every change of the node ([`foreseal_node::Changes`]) and at the deadline.
    pub(crate) fn poll(&self, node: &Node) -> Result<Option<Bytes>, Error> {
        let mut stage = self.0.lock();
        if let Stage::Answer(underway, then) = &*stage {
            let Some(answer) = underway.poll() else { return Ok(None) };
            match then.resume(node, answer)? {
                Reply::Ready(answer) => return Ok(Some(answer)),
                Reply::Later(later) => *stage = later.0.into_inner(),
                Reply::Verification(pending) => unreachable!("{pending:?} follows an answer"),
            }
        }
        match &*stage {
            Stage::Answer(..) => Ok(None),
            Stage::Receipt(wait) => Ok(wait.poll(node)?.map(Bytes::from)),
        }
    }

    /// Returns the error for a caller that stops waiting.
    pub(crate) fn abandon(&self) -> Error {
        match &*self.0.lock() {
            Stage::Answer(underway, _) => underway.unknown().into(),
            Stage::Receipt(wait) => wait.abandon(),
        }
    }
}
