//! Requests of a follower.

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    ConnectionOrigin, FeedConfig, FeedSource, feed_source::Registration, peers::Peer, replies::Replies,
};
use crate::{
    submit_error::SubmitError,
    wire::{MAX_REQUEST_SIZE, Outcome, Request, Response, read_frame},
};

/// Maximum number of submissions of a node on another machine that are not answered. A replica passes them on
/// together with those of its own clients, which must not be shut out.
const MAX_REMOTE_SUBMISSIONS: u64 = 4096;

/// Receiving side of a connection, shared with the sending thread.
#[derive(Debug, Default)]
pub(super) struct RequestReader {
    replies: Replies,
    /// Number of submissions without an answer.
    unanswered: AtomicU64,
    /// `true` if nothing more can be received.
    closed: AtomicBool,
}

impl RequestReader {
    /// Returns the response frames that are due at log position `at`.
    pub fn due(&self, at: u64) -> Vec<Vec<u8>> {
        self.replies.due(at)
    }

    /// Returns `true` if nothing more will be received.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Receives and handles the next frame. Returns `true` if there may be another.
    pub fn receive(self: &Arc<Self>, input: &mut impl Read, source: &FeedSource, peer: &Peer) -> bool {
        let Ok(Some((kind, body))) = read_frame(input, MAX_REQUEST_SIZE) else { return false };
        match Request::decode(kind, &body) {
            Ok(Request::Query { .. } | Request::Damaged(_) | Request::Report(_))
                if peer.origin == ConnectionOrigin::Network =>
            {
                tracing::warn!(name = peer.name(), kind, "a node on another machine sent a worker's request");
                return false;
            }
            Ok(up) => self.handle(up, source, peer),
            Err(error) => {
                tracing::warn!(%error, name = peer.name(), "failed to decode the request of a follower");
                return false;
            }
        }
        !self.replies.is_full()
    }

    /// Marks the receiving side as closed.
    pub fn end(&self, source: &FeedSource) {
        self.closed.store(true, Ordering::Release);
        source.config.log.wake();
    }

    fn handle(self: &Arc<Self>, up: Request, source: &FeedSource, peer: &Peer) {
        let FeedConfig { log, backend, .. } = &source.config;
        match up {
            Request::Alive { next } => peer.next.store(next, Ordering::Release),
            Request::Report(metrics) => *peer.report.lock() = metrics,
            Request::Submit { number, runnable, submission } => {
                let (own, log) = (self.clone(), log.clone());
                let is_remote = peer.origin == ConnectionOrigin::Network;
                if is_remote && self.unanswered.load(Ordering::Acquire) >= MAX_REMOTE_SUBMISSIONS {
                    let outcome =
                        Outcome::from_result(Err(SubmitError::Busy { max: MAX_REMOTE_SUBMISSIONS }));
                    self.replies.add(log.status().end, Response::Answer { number, outcome }.encode());
                    return log.wake();
                }
                self.unanswered.fetch_add(1, Ordering::AcqRel);
                let reply = move |admitted| {
                    let outcome = Outcome::from_result(admitted);
                    // The effects of the submission on the pool are in the log by now.
                    let at = log.status().end;
                    own.replies.add(at, Response::Answer { number, outcome }.encode());
                    own.unanswered.fetch_sub(1, Ordering::AcqRel);
                    log.wake();
                };
                backend.admit(submission, runnable, peer.origin, Box::new(reply));
            }
            Request::Query { number, query } => {
                let answer = backend.answer(&query).unwrap_or_default();
                // Everything on which the response depends is in the log by now.
                self.replies
                    .add(log.status().end, Response::Reply { number, answer: answer.into() }.encode());
                log.wake();
            }
            Request::Damaged(report) => backend.confirm_damage(&report, peer.name()),
            Request::Hello(_) | Request::DirectoryCopy { .. } => {}
        }
    }
}

/// Guard that closes the receiving side when its thread ends, even by a panic. Then the sending side ends
/// too.
struct ReaderGuard {
    requests: Arc<RequestReader>,
    source: Arc<FeedSource>,
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.requests.end(&self.source);
    }
}

/// Starts the thread that receives the follower's requests.
pub(super) fn listen(mut stream: UnixStream, registration: &Registration) -> io::Result<Arc<RequestReader>> {
    let requests = Arc::<RequestReader>::default();
    let (peer, source) = (registration.peer.clone(), registration.source.clone());
    let guard = ReaderGuard { requests: requests.clone(), source };
    let run = move || {
        let ReaderGuard { requests, source } = &guard;
        while requests.receive(&mut stream, source, &peer) {}
    };
    std::thread::Builder::new().name("foreseal-feed-requests".to_owned()).spawn(run)?;
    Ok(requests)
}
