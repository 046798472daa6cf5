//! Bodies that contain only submissions, processed as a unit.
//!
//! The calls of a batch pass through the worker pool together, and their signatures are recovered in
//! parallel. They enter the pool in the order of the batch. Those with blobs or authorizations are verified in between,
//! in a lane of their own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use foreseal_pool::UnverifiedTransaction;
use parking_lot::Mutex;

use super::{
    api::Api,
    call_text::{CallText, OwnedCall},
};
use crate::{
    errors::rpc_error::RpcError,
    methods::submit::{SEND, admit, read_submission, verify},
    streams::wait::{PendingVerification, Reply},
};

/// Number of calls in one chunk: recovering their signatures takes half a millisecond.
const CHUNK_SIZE: usize = 16;

/// Outcome of a call.
type Outcome = Result<Bytes, RpcError>;

/// Calls of one body, in chunks for several threads.
pub struct Submissions {
    api: Arc<Api>,
    calls: Vec<Call>,
    /// Number of chunks that are not decoded yet.
    left: AtomicUsize,
    admission: Mutex<BodyAdmission>,
}

/// Progress of a body whose calls are all decoded.
#[derive(Default)]
struct BodyAdmission {
    /// Results of the first calls.
    answered: Vec<Outcome>,
    /// Submission of the next call, if it is to be verified.
    pending: Option<Box<PendingVerification>>,
}

/// State of a body after a part of its work.
#[derive(Debug)]
pub enum BodyProgress {
    /// Other chunks are not decoded yet.
    Decoding,
    /// The next submission is to be verified: [`Submissions::verify_next`].
    Verification,
    /// Results of all calls.
    Answered(Vec<Outcome>),
}

struct Call {
    params: String,
    read: Mutex<Option<Result<UnverifiedTransaction, RpcError>>>,
}

impl Call {
    fn from_call(call: &OwnedCall) -> Option<Self> {
        let (method, params) = call.request().ok()?;
        let is_plain = method == SEND && serde_json::from_str::<Vec<&str>>(params).is_ok();
        is_plain.then(|| Self { params: params.to_owned(), read: Mutex::default() })
    }
}

impl Submissions {
    /// Returns `None` if `calls` contain another method, or parameters that are not an array of strings without
    /// escapes.
    pub(super) fn new(api: &Arc<Api>, calls: &[OwnedCall]) -> Option<Self> {
        let calls = calls.iter().map(Call::from_call).collect::<Option<Vec<_>>>()?;
        let left = AtomicUsize::new(calls.len().div_ceil(CHUNK_SIZE));
        Some(Self { api: api.clone(), calls, left, admission: Mutex::default() })
    }

    /// Returns the submissions of a body in the common form.
    #[cfg(test)]
    pub(crate) fn read(api: &Arc<Api>, body: &str) -> Option<Self> {
        let calls: Vec<OwnedCall> = match super::envelope::parse_common(body.as_bytes(), 8, 100)? {
            super::envelope::CommonBody::Call(call) => vec![OwnedCall::new(&call)],
            super::envelope::CommonBody::Batch(calls) => calls.iter().map(OwnedCall::new).collect(),
        };
        Self::new(api, &calls)
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> usize {
        self.calls.len().div_ceil(CHUNK_SIZE)
    }

    /// Decodes one chunk; call it once for each.
    ///
    /// The call that decodes the last remaining chunk admits the submissions to the pool in order, up to one that is
    /// to be verified; the others return [`BodyProgress::Decoding`].
    pub fn work(&self, chunk: usize) -> BodyProgress {
        for call in self.calls.iter().skip(chunk * CHUNK_SIZE).take(CHUNK_SIZE) {
            let submission = read_submission(self.api.node(), call.params.as_bytes());
            *call.read.lock() = Some(submission);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return BodyProgress::Decoding;
        }
        self.admit_all()
    }

    /// Verifies the next submission and admits it and those that follow, up to another one that is to be verified.
    pub fn verify_next(&self) -> BodyProgress {
        let pending = self.admission.lock().pending.take();
        if let Some(pending) = pending {
            let result = verify(self.api.node(), *pending).and_then(ready);
            self.push_answer(result);
        }
        self.admit_all()
    }

    /// Returns the results of all calls; `error` is that of each call that has none yet.
    ///
    /// The others are not admitted: that work belongs to a lane, not to the thread that stopped a job of this body.
    pub fn stop(&self, error: &RpcError) -> Vec<Outcome> {
        let mut answered = std::mem::take(&mut self.admission.lock().answered);
        let rest = self.calls.iter().skip(answered.len());
        answered.extend(rest.map(|_| Err(error.clone())));
        answered
    }

    fn admit_all(&self) -> BodyProgress {
        let answered = self.admission.lock().answered.len();
        for call in self.calls.iter().skip(answered) {
            let submission = call.read.lock().take().expect("each chunk was decoded");
            let reply = submission.and_then(|submission| admit(self.api.node(), submission));
            match reply {
                Ok(Reply::Verification(pending)) => {
                    self.admission.lock().pending = Some(pending);
                    return BodyProgress::Verification;
                }
                reply => self.push_answer(reply.and_then(ready)),
            }
        }
        BodyProgress::Answered(std::mem::take(&mut self.admission.lock().answered))
    }

    /// Adds the result of the first call that has none.
    fn push_answer(&self, result: Outcome) {
        self.admission.lock().answered.push(result);
    }
}

/// Returns the result of a call that waits for nothing.
fn ready(reply: Reply) -> Result<Bytes, RpcError> {
    match reply {
        Reply::Ready(answer) => Ok(answer),
        Reply::Later(wait) => Err(wait.abandon().into()),
        Reply::Verification(_) => unreachable!("it is verified"),
    }
}
