//! Bodies of nothing but submissions, worked on as a whole: the calls of a batch share one way to the core threads and one
//! way back, their signatures are recovered side by side, and they enter the pool in the batch's order.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use foreseal_pool::Submission;
use parking_lot::Mutex;

use crate::{
    Api, RpcError,
    plain::{Body, Plain, read},
    submit::SEND,
};

/// Calls of one piece of work: half a millisecond of recovering.
const PIECE: usize = 16;

/// JSON of a call's id, and its outcome.
pub type Answered = (String, Result<Bytes, RpcError>);

/// The calls of one body, in pieces for several threads.
pub struct Submissions {
    api: Arc<Api>,
    calls: Vec<Call>,
    is_batch: bool,
    /// Pieces that are not read yet.
    left: AtomicUsize,
}

struct Call {
    id: String,
    params: String,
    read: Mutex<Option<Result<Submission, RpcError>>>,
}

impl Call {
    fn of(call: &Plain<'_>) -> Option<Self> {
        let Plain { id, method, params } = *call;
        (method == SEND).then(|| Self {
            id: id.to_owned(),
            params: params.to_owned(),
            read: Mutex::default(),
        })
    }
}

impl Submissions {
    /// The calls of `body`, within limits as for [`read`]; `None` where it is not plain or has another call among them.
    pub fn read(api: &Arc<Api>, body: &[u8], depth: usize, batch: usize) -> Option<Self> {
        let (calls, is_batch) = match read(body, depth, batch)? {
            Body::Call(call) => (vec![Call::of(&call)?], false),
            Body::Batch(calls) => (calls.iter().map(Call::of).collect::<Option<_>>()?, true),
        };
        let left = AtomicUsize::new(calls.len().div_ceil(PIECE));
        Some(Self { api: api.clone(), calls, is_batch, left })
    }

    /// Whether it is a batch, be it of one call.
    pub fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// How many pieces there are.
    pub fn pieces(&self) -> usize {
        self.calls.len().div_ceil(PIECE)
    }

    /// Reads one piece, each to be read once. Whoever reads the last that was left then takes all of them into the pool, in
    /// their order, and has the answers.
    pub fn work(&self, piece: usize) -> Option<Vec<Answered>> {
        for call in self.calls.iter().skip(piece * PIECE).take(PIECE) {
            let submission = self.api.read_submission(call.params.as_bytes());
            *call.read.lock() = Some(submission);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let answered = |call: &Call| {
            let submission = call.read.lock().take().expect("each piece was read");
            (call.id.clone(), submission.and_then(|submission| self.api.admit(submission)))
        };
        Some(self.calls.iter().map(answered).collect())
    }
}
