//! The completion queue from the worker threads to the event loop: outcomes of calls, and notices of
//! channels.
//!
//! ```text
//! worker thread: push -> queue, eventfd (first of a burst only) -> event loop: drain -> Python objects
//! ```
//! Outcomes of submissions and short reads come first. Other outcomes and notices are drained in bounded
//! portions: hundreds of calls that end together, and megabytes of notices, must not block the event loop.
//!
//! Entries hold Rust values only, so that a worker thread never needs the GIL.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use bytes::Bytes;
use foreseal_rpc::{Notification, RpcError};
use parking_lot::{Condvar, Mutex};
use rustix::event::{EventfdFlags, eventfd};

/// JSON bytes of a result, or the error in its place.
pub type Outcome = Result<Bytes, RpcError>;

/// The result of work on a worker thread.
pub enum Finished {
    Call(Outcome),
    /// A call of a body that waits for it; its answers have `size` bytes so far.
    Body {
        size: usize,
    },
}

impl Finished {
    /// Returns the number of bytes that the event loop copies.
    fn size(&self) -> usize {
        match self {
            Self::Call(Ok(bytes)) => bytes.len(),
            Self::Body { size } => *size,
            Self::Call(Err(_)) => 0,
        }
    }
}

/// Bytes of notices that may be queued before the thread that produces them waits.
const NOTICE_BYTES: usize = 64 << 20;

/// Largest number of usual outcomes that one `drain` returns.
const MAX_DRAINED: usize = 48;

/// Bytes of usual outcomes, and of notices, after which one `drain` returns no more: the event loop copies
/// them.
const MAX_DRAINED_BYTES: usize = 1 << 20;

/// Priority of an outcome in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Drained before all others: submissions and short reads.
    Urgent,
    Usual,
}

/// A queue that makes its descriptor readable when the first entry arrives.
pub struct Completions {
    queue: Mutex<Queue>,
    /// Signalled when notices were drained or the queue was closed.
    room: Condvar,
    event: OwnedFd,
}

#[derive(Default)]
struct Queue {
    urgent: Vec<(u64, Finished)>,
    usual: VecDeque<(u64, Finished)>,
    notices: VecDeque<Notification>,
    /// Total bytes of the notices.
    bytes: usize,
    closed: bool,
}

impl Queue {
    fn len(&self) -> usize {
        self.urgent.len() + self.usual.len() + self.notices.len()
    }
}

/// Entries drained from the queue.
pub struct Drained {
    /// Outcomes by ticket.
    pub outcomes: Vec<(u64, Finished)>,
    pub notices: Vec<Notification>,
}

impl Completions {
    /// Creates the queue and its eventfd.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { queue: Mutex::default(), room: Condvar::new(), event })
    }

    /// Returns the descriptor, which is readable while there are entries. It is valid as long as `self`.
    pub fn descriptor(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// Adds the outcome of the call with this `ticket`.
    pub fn push(&self, ticket: u64, outcome: Outcome, urgency: Urgency) {
        self.finish(ticket, Finished::Call(outcome), urgency);
    }

    /// Adds the result of the work with this `ticket`.
    pub fn finish(&self, ticket: u64, finished: Finished, urgency: Urgency) {
        self.add(|queue| match urgency {
            Urgency::Urgent => queue.urgent.push((ticket, finished)),
            Urgency::Usual => queue.usual.push_back((ticket, finished)),
        });
    }

    /// Adds a notice once there is room for it. Drops it if the queue is closed.
    pub fn offer_notice(&self, notice: Notification) {
        if self.wait_for_room() {
            self.push_notice(notice);
        }
    }

    /// Adds a notice without waiting.
    pub fn push_notice(&self, notice: Notification) {
        self.add(|queue| {
            queue.bytes += notice_size(&notice);
            queue.notices.push_back(notice);
        });
    }

    fn add(&self, add: impl FnOnce(&mut Queue)) {
        let mut queue = self.queue.lock();
        add(&mut queue);
        if queue.len() == 1 {
            self.wake();
        }
    }

    /// Waits while more than [`NOTICE_BYTES`] of notices are queued. Returns `false` once the queue is
    /// closed.
    pub fn wait_for_room(&self) -> bool {
        let mut queue = self.queue.lock();
        while queue.bytes > NOTICE_BYTES && !queue.closed {
            self.room.wait(&mut queue);
        }
        !queue.closed
    }

    /// Closes the queue for notices and wakes the threads that wait for room.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.room.notify_all();
    }

    /// Returns all urgent outcomes, and some of the usual ones and of the notices. The descriptor stays
    /// readable while more are queued.
    pub fn drain(&self) -> Drained {
        let mut queue = self.queue.lock();
        let mut outcomes = std::mem::take(&mut queue.urgent);
        let usual = count_within(queue.usual.iter().take(MAX_DRAINED).map(|(_, finished)| finished.size()));
        outcomes.extend(queue.usual.drain(..usual));
        let count = count_within(queue.notices.iter().map(notice_size));
        let notices: Vec<Notification> = queue.notices.drain(..count).collect();
        queue.bytes -= notices.iter().map(notice_size).sum::<usize>();
        if queue.usual.is_empty() && queue.notices.is_empty() {
            self.rest();
        }
        self.room.notify_all();
        Drained { outcomes, notices }
    }

    /// Makes the descriptor readable. The write cannot fail: the counter is far below its maximum.
    fn wake(&self) {
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable. If it already was, the read fails without effect.
    fn rest(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

fn notice_size(notice: &Notification) -> usize {
    notice.messages.iter().flatten().map(String::len).sum()
}

/// Returns the number of leading entries that fit [`MAX_DRAINED_BYTES`] together; the last one may exceed it.
fn count_within(sizes: impl Iterator<Item = usize>) -> usize {
    let mut total = 0;
    let taken = sizes.take_while(|size| {
        let fits = total < MAX_DRAINED_BYTES;
        total += size;
        fits
    });
    taken.count()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    use alloy_primitives::B256;
    use foreseal_chain::StepCursor;

    use super::*;

    fn notice(bytes: usize) -> Notification {
        let cursor = StepCursor { number: 1, index: 0, hash: B256::ZERO };
        Notification {
            channel: 1,
            sequence: 1,
            messages: Some(vec!["x".repeat(bytes)]),
            deferred: None,
            cursor,
        }
    }

    #[test]
    fn a_producer_waits_while_the_completion_queue_is_full() {
        let completions = Arc::new(Completions::new().unwrap());
        completions.push_notice(notice(NOTICE_BYTES));
        assert!(completions.wait_for_room(), "there is room for as much");
        completions.push_notice(notice(1));
        let (sender, receiver) = mpsc::channel();
        let waiting = completions.clone();
        let (started, starts) = mpsc::channel();
        let thread = thread::spawn(move || {
            started.send(()).unwrap();
            for _ in 0..2 {
                sender.send(waiting.wait_for_room()).unwrap();
                waiting.push_notice(notice(NOTICE_BYTES + 1));
            }
        });
        starts.recv().unwrap();
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        assert_eq!(completions.drain().notices.len(), 1, "the first one is as much as is taken at a time");
        assert_eq!(receiver.recv(), Ok(true));
        completions.close();
        assert_eq!(receiver.recv(), Ok(false), "nobody takes them any more");
        thread.join().unwrap();
    }

    #[test]
    fn long_outcomes_and_notices_are_drained_in_portions() {
        let completions = Completions::new().unwrap();
        let long = Bytes::from(vec![b'x'; MAX_DRAINED_BYTES / 2]);
        for ticket in 0..4 {
            completions.push(ticket, Ok(long.clone()), Urgency::Usual);
            completions.push_notice(notice(MAX_DRAINED_BYTES / 2));
        }
        completions.push(9, Ok(long), Urgency::Urgent);
        let tickets =
            |drained: &Drained| drained.outcomes.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>();
        let first = completions.drain();
        assert_eq!((tickets(&first), first.notices.len()), (vec![9, 0, 1], 2));
        let second = completions.drain();
        assert_eq!((tickets(&second), second.notices.len()), (vec![2, 3], 2));
        assert_eq!(completions.queue.lock().bytes, 0);
    }

    /// Holds for any size of one view: a pump that fell far behind makes many notices of it.
    #[test]
    fn offered_notices_never_exceed_the_queue_by_much() {
        let completions = Arc::new(Completions::new().unwrap());
        let offering = completions.clone();
        let thread = thread::spawn(move || (0..9).for_each(|_| offering.offer_notice(notice(NOTICE_BYTES))));
        let mut received = 0;
        while received < 9 {
            let notices = completions.drain().notices.len();
            assert!(notices <= 2, "{notices} waited");
            received += notices;
            thread::yield_now();
        }
        thread.join().unwrap();
        completions.close();
        completions.offer_notice(notice(1));
        assert_eq!(completions.drain().notices.len(), 0);
    }
}
