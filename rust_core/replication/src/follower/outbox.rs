//! Messages to the sequencer, and the submissions that wait for its response.

use std::{
    collections::HashMap,
    fmt,
    io::Write,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_primitives::{B256, Bytes};
use foreseal_pool::{Admission, CheckedTransaction};
use foreseal_primitives::wire::to_vec;
use foreseal_store::Store;
use parking_lot::{Condvar, Mutex};

use super::sequencer_status::SequencerStatus;
use crate::{
    submit_error::SubmitError,
    wire::{HEARTBEAT_INTERVAL, Outcome, Request},
};

/// Maximum number of submissions in flight.
const MAX_IN_FLIGHT: usize = 16_384;
/// Maximum bytes of submissions that are not sent yet. A submission has at most 16 MiB.
const MAX_UNSENT_BYTES: usize = 64 << 20;

/// Queue of messages. Any thread adds to it; one thread per connection sends.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    added: Condvar,
    /// The sequencer's store. The sequencer is notified of damage that this process finds in it.
    store: Option<Store>,
    /// Number of answered submissions.
    answers: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    /// `true` while there is a connection.
    open: bool,
    /// `true` if the sequencer has been notified of damage of the store.
    damage_sent: bool,
    report: Option<Bytes>,
    /// Frames of requests.
    queries: Vec<u8>,
    /// Number of the next submission.
    next: u64,
    /// Numbers and frames of the submissions that are not sent yet.
    unsent: Vec<(u64, Vec<u8>)>,
    unsent_bytes: usize,
    underway: HashMap<u64, InFlight>,
}

/// Function that receives the response to a submission.
pub type SubmissionCallback = Box<dyn FnOnce(Result<Admission, SubmitError>) + Send>;

/// A submission in flight.
struct InFlight {
    hash: B256,
    callback: SubmissionCallback,
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// Handle of a submission in flight, and its response once it has arrived.
#[derive(Clone, Debug)]
pub struct SubmissionHandle(Arc<SubmissionState>);

#[derive(Debug)]
struct SubmissionState {
    hash: B256,
    answer: Mutex<Option<Result<Admission, SubmitError>>>,
    answered: Condvar,
}

impl SubmissionHandle {
    fn new(hash: B256) -> Self {
        Self(Arc::new(SubmissionState { hash, answer: Mutex::default(), answered: Condvar::new() }))
    }

    /// Returns the sequencer's response, once; `None` until it has arrived.
    pub fn poll(&self) -> Option<Result<Admission, SubmitError>> {
        self.0.answer.lock().take()
    }

    /// Returns the error that applies while there is no response.
    pub fn unknown(&self) -> SubmitError {
        SubmitError::Unknown { hash: self.0.hash }
    }

    /// Does the same as [`Self::poll`], and blocks until the response arrives or the connection breaks.
    pub fn wait(&self) -> Result<Admission, SubmitError> {
        let mut answer = self.0.answer.lock();
        loop {
            match answer.take() {
                Some(answer) => return answer,
                None => self.0.answered.wait(&mut answer),
            }
        }
    }

    fn answer(&self, answer: Result<Admission, SubmitError>) {
        *self.0.answer.lock() = Some(answer);
        self.0.answered.notify_all();
    }
}

impl Outbox {
    /// Creates the outbox of a follower, which reads `store` of its sequencer if there is one.
    pub fn new(store: Option<Store>) -> Self {
        Self { store, ..Self::default() }
    }

    /// Queues metrics, in place of those that are not sent yet.
    pub fn report(&self, metrics: Bytes) {
        self.waiting.lock().report = Some(metrics);
        self.added.notify_all();
    }

    /// Queues a frame without waiting for a response. Returns `true` if there is a connection.
    pub fn send_frame(&self, frame: Vec<u8>) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.open {
            waiting.queries.extend(frame);
            self.added.notify_all();
        }
        waiting.open
    }

    /// Wakes the sending thread.
    pub fn wake(&self) {
        let _waiting = self.waiting.lock();
        self.added.notify_all();
    }

    /// Marks the connection as open.
    pub fn open(&self) {
        let mut waiting = self.waiting.lock();
        (waiting.open, waiting.damage_sent) = (true, false);
    }

    /// Marks the connection as closed. Unsent submissions fail; the outcome of sent ones is unknown.
    pub fn close(&self) {
        let (unsent, underway) = {
            let mut waiting = self.waiting.lock();
            waiting.open = false;
            waiting.queries.clear();
            waiting.unsent_bytes = 0;
            (std::mem::take(&mut waiting.unsent), std::mem::take(&mut waiting.underway))
        };
        // Submissions are numbered and sent in ascending order.
        let first_unsent = unsent.first().map_or(u64::MAX, |(number, _)| *number);
        for (number, one) in underway {
            let unknown = SubmitError::Unknown { hash: one.hash };
            (one.callback)(Err(if number < first_unsent { unknown } else { SubmitError::Away }));
            // After the response, because a reader of the counter then expects it.
            self.answers.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Returns the number of answered submissions so far.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Acquire)
    }

    /// Queues a submission for the sequencer.
    pub fn submit(
        &self,
        submission: &CheckedTransaction,
        runnable: bool,
    ) -> Result<SubmissionHandle, SubmitError> {
        let handle = SubmissionHandle::new(submission.hash());
        let answered = handle.clone();
        let callback = Box::new(move |answer| answered.answer(answer));
        self.enqueue(submission.hash(), to_vec(submission).into(), runnable, callback)
            .map_err(|(error, _)| error)?;
        Ok(handle)
    }

    /// Queues an encoded submission for the sequencer. `callback` receives the response on the thread that
    /// reads the connection, after the effects on the pool; an error it receives at once.
    pub fn forward(&self, hash: B256, submission: Bytes, runnable: bool, callback: SubmissionCallback) {
        if let Err((error, callback)) = self.enqueue(hash, submission, runnable, callback) {
            callback(Err(error));
        }
    }

    fn enqueue(
        &self,
        hash: B256,
        submission: Bytes,
        runnable: bool,
        callback: SubmissionCallback,
    ) -> Result<(), (SubmitError, SubmissionCallback)> {
        let mut waiting = self.waiting.lock();
        if !waiting.open {
            return Err((SubmitError::Away, callback));
        }
        if waiting.underway.len() >= MAX_IN_FLIGHT {
            return Err((SubmitError::Busy { max: MAX_IN_FLIGHT as u64 }, callback));
        }
        if waiting.unsent_bytes.saturating_add(submission.len()) > MAX_UNSENT_BYTES {
            return Err((SubmitError::Busy { max: waiting.underway.len() as u64 }, callback));
        }
        let number = waiting.next;
        waiting.next += 1;
        let frame = Request::Submit { number, runnable, submission }.encode();
        waiting.unsent_bytes += frame.len();
        waiting.unsent.push((number, frame));
        waiting.underway.insert(number, InFlight { hash, callback });
        drop(waiting);
        self.added.notify_all();
        Ok(())
    }

    /// Completes the submission with this number.
    pub fn answered(&self, number: u64, outcome: Outcome) {
        let underway = self.waiting.lock().underway.remove(&number);
        let Some(underway) = underway else { return };
        (underway.callback)(outcome.into_result());
        self.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// Sends queued messages, and a heartbeat at least once per [`HEARTBEAT_INTERVAL`], until `over` is set or the
    /// connection breaks.
    pub fn send(&self, mut stream: &UnixStream, sequencer: &SequencerStatus, over: &AtomicBool) {
        while !over.load(Ordering::Acquire) {
            {
                let mut waiting = self.waiting.lock();
                if waiting.is_idle() && !over.load(Ordering::Acquire) {
                    self.added.wait_for(&mut waiting, HEARTBEAT_INTERVAL);
                }
            }
            if stream.write_all(&self.drain_frames(sequencer)).is_err() {
                // Without a working sending side, the receiving side is useless too.
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }

    /// Returns all queued messages and a heartbeat.
    pub fn drain_frames(&self, sequencer: &SequencerStatus) -> Vec<u8> {
        let mut frames = Vec::new();
        {
            let mut waiting = self.waiting.lock();
            waiting.unsent.drain(..).for_each(|(_, frame)| frames.extend(frame));
            waiting.unsent_bytes = 0;
            frames.append(&mut waiting.queries);
            let damage = self.store.as_ref().and_then(Store::damage_report);
            if let Some(report) = damage.filter(|_| !waiting.damage_sent) {
                waiting.damage_sent = true;
                frames.extend(Request::Damaged(report).encode());
            }
            if let Some(metrics) = waiting.report.take() {
                frames.extend(Request::Report(metrics).encode());
            }
        }
        frames.extend(Request::Alive { next: sequencer.next() }.encode());
        frames
    }
}

impl Waiting {
    fn is_idle(&self) -> bool {
        self.report.is_none() && self.unsent.is_empty() && self.queries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, time::Duration};

    use super::*;

    #[test]
    fn unsent_submissions_have_a_bound_in_bytes() {
        let outbox = Outbox::default();
        outbox.open();
        let rejected = Arc::new(AtomicU64::new(0));
        let forward = |count| {
            for _ in 0..count {
                let rejected = rejected.clone();
                let callback = move |answer| {
                    if matches!(answer, Err(SubmitError::Busy { .. })) {
                        rejected.fetch_add(1, Ordering::Relaxed);
                    }
                };
                outbox.forward(B256::ZERO, vec![0; 1 << 20].into(), false, Box::new(callback));
            }
            rejected.load(Ordering::Relaxed)
        };
        assert_eq!(forward(63), 0);
        assert_eq!(forward(10), 10);
        outbox.drain_frames(&SequencerStatus::default());
        assert_eq!(forward(63), 10, "sent submissions no longer count");
        outbox.close();
        outbox.open();
        assert_eq!(forward(63), 10);
    }

    #[test]
    fn a_blocked_connection_is_closed() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        theirs.shutdown(Shutdown::Read).unwrap();
        Outbox::default().send(&ours, &SequencerStatus::default(), &AtomicBool::new(false));
        assert_eq!(ours.read(&mut [0; 1]).unwrap(), 0, "nothing is heard any more");
        drop(theirs);
    }
}
