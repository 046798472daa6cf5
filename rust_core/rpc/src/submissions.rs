//! Bodies that contain only submissions, processed as a unit.
//!
//! The calls of a batch pass through the worker pool together, and their signatures are recovered in
//! parallel. They enter the pool in the order of the batch.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use foreseal_pool::CheckedTransaction;
use parking_lot::Mutex;

use crate::{
    Api, RpcError,
    envelope::{BorrowedCall, CommonBody},
    submit::{SEND, admit, read_submission},
};

/// Number of calls in one chunk: recovering their signatures takes half a millisecond.
const CHUNK_SIZE: usize = 16;

/// JSON of a call's id, and the result of the call.
pub type Answered = (String, Result<Bytes, RpcError>);

/// Calls of one body, in chunks for several threads.
pub struct Submissions {
    api: Arc<Api>,
    calls: Vec<Call>,
    is_batch: bool,
    /// Number of chunks that are not decoded yet.
    left: AtomicUsize,
}

struct Call {
    id: String,
    params: String,
    read: Mutex<Option<Result<CheckedTransaction, RpcError>>>,
}

impl Call {
    fn from_call(call: &BorrowedCall<'_>) -> Option<Self> {
        let BorrowedCall { id, method, params } = *call;
        // Other parameters, and invalid JSON, take the slow path: a body with a syntax error admits no call.
        let is_plain = method == SEND && serde_json::from_str::<Vec<&str>>(params).is_ok();
        is_plain.then(|| Self { id: id.to_owned(), params: params.to_owned(), read: Mutex::default() })
    }
}

impl Submissions {
    /// Returns `None` if `body` contains another method, or parameters that are not an array of strings.
    pub(crate) fn new(api: &Arc<Api>, body: &CommonBody<'_>) -> Option<Self> {
        let (calls, is_batch) = match body {
            CommonBody::Call(call) => (vec![Call::from_call(call)?], false),
            CommonBody::Batch(calls) => (calls.iter().map(Call::from_call).collect::<Option<_>>()?, true),
        };
        let left = AtomicUsize::new(calls.len().div_ceil(CHUNK_SIZE));
        Some(Self { api: api.clone(), calls, is_batch, left })
    }

    /// Returns `error` as the result of each call.
    pub fn reject(&self, error: &RpcError) -> Vec<Answered> {
        self.calls.iter().map(|call| (call.id.clone(), Err(error.clone()))).collect()
    }

    /// Returns `true` for a batch, even of one call.
    pub fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of chunks.
    pub fn slices(&self) -> usize {
        self.calls.len().div_ceil(CHUNK_SIZE)
    }

    /// Decodes one chunk; call it once for each.
    ///
    /// The call that decodes the last remaining chunk admits all submissions to the pool in order and returns
    /// the results; the others return `None`.
    pub fn work(&self, piece: usize) -> Option<Vec<Answered>> {
        for call in self.calls.iter().skip(piece * CHUNK_SIZE).take(CHUNK_SIZE) {
            let submission = read_submission(self.api.node(), call.params.as_bytes());
            *call.read.lock() = Some(submission);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let answered = |call: &Call| {
            let submission = call.read.lock().take().expect("each piece was read");
            (call.id.clone(), submission.and_then(|submission| admit(self.api.node(), submission)))
        };
        Some(self.calls.iter().map(answered).collect())
    }
}
