//! Requests to the sequencer that wait for a response.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use parking_lot::{Condvar, Mutex};

/// Maximum number of requests in flight; each blocks a thread.
const MAX_IN_FLIGHT: usize = 64;

/// The pending requests of a connection.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    open: Mutex<Open>,
    resolve: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    /// Number of the next request.
    next: u64,
    /// Pending requests by number, with the response until the waiting thread has consumed it.
    answers: HashMap<u64, Option<Bytes>>,
}

impl PendingRequests {
    /// Sends a request and blocks until its response arrives. `send` receives the request's number and
    /// returns `true` if there is a connection. Returns `None` after `timeout`, without a connection, or if too
    /// many requests are pending.
    pub fn query(&self, timeout: Duration, send: impl FnOnce(u64) -> bool) -> Option<Bytes> {
        let until = Instant::now() + timeout;
        let mut open = self.open.lock();
        if open.answers.len() >= MAX_IN_FLIGHT {
            return None;
        }
        let number = open.next;
        open.next += 1;
        if !send(number) {
            return None;
        }
        open.answers.insert(number, None);
        // A missing entry means that the connection broke.
        while let Some(None) = open.answers.get(&number) {
            if self.resolve.wait_until(&mut open, until).timed_out() {
                break;
            }
        }
        open.answers.remove(&number).flatten()
    }

    /// Completes the request with this number.
    pub fn resolve(&self, number: u64, resolve: Bytes) {
        if let Some(answer) = self.open.lock().answers.get_mut(&number) {
            *answer = Some(resolve);
        }
        self.resolve.notify_all();
    }

    /// Fails all pending requests: the connection broke.
    pub fn close(&self) {
        self.open.lock().answers.clear();
        self.resolve.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_request_is_answered_or_its_connection_closed() {
        let requests = PendingRequests::default();
        assert_eq!(requests.query(LONG, |_| false), None, "there is no connection");
        assert_eq!(requests.query(Duration::ZERO, |_| true), None, "nothing came in time");
        let (sent, numbers) = mpsc::channel();
        std::thread::scope(|scope| {
            let query = || scope.spawn(|| requests.query(LONG, |number| sent.send(number).is_ok()));
            let first = query();
            requests.resolve(99, Bytes::new());
            let number = numbers.recv().unwrap();
            requests.resolve(number, Bytes::from_static(b"so"));
            assert_eq!(first.join().unwrap(), Some(Bytes::from_static(b"so")));
            requests.resolve(number, Bytes::from_static(b"late"));
            let second = query();
            numbers.recv().unwrap();
            requests.close();
            assert_eq!(second.join().unwrap(), None);
        });
        assert!(requests.open.lock().answers.is_empty());
    }
}
