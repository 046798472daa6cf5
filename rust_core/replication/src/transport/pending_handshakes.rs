//! Connections that are not admitted yet.

use std::{collections::VecDeque, net::SocketAddr};

use parking_lot::Mutex;
use tokio::task::AbortHandle;

/// Tasks of the connections that are not admitted yet, oldest first.
///
/// When there are too many, the oldest one ends: it is the least likely to succeed, so peers that connect
/// and stay silent cannot keep followers out.
#[derive(Debug)]
pub(super) struct PendingHandshakes {
    limit: usize,
    queue: Mutex<HandshakeQueue>,
}

#[derive(Debug, Default)]
struct HandshakeQueue {
    next: u64,
    tasks: VecDeque<PendingTask>,
}

#[derive(Debug)]
struct PendingTask {
    number: u64,
    peer: SocketAddr,
    task: AbortHandle,
}

impl PendingHandshakes {
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), queue: Mutex::default() }
    }

    /// Adds the task that `spawn` starts with the number of the entry. Returns the peer of the entry that had
    /// to end for it, if any.
    pub fn add(&self, peer: SocketAddr, spawn: impl FnOnce(u64) -> AbortHandle) -> Option<SocketAddr> {
        let mut queue = self.queue.lock();
        let number = queue.next;
        queue.next += 1;
        let evicted = if queue.tasks.len() >= self.limit { queue.tasks.pop_front() } else { None };
        queue.tasks.push_back(PendingTask { number, peer, task: spawn(number) });
        evicted.map(|PendingTask { peer, task, .. }| {
            task.abort();
            peer
        })
    }

    /// Removes an entry, whose task then continues without this limit.
    pub fn remove(&self, number: u64) {
        self.queue.lock().tasks.retain(|pending| pending.number != number);
    }

    /// Ends all tasks.
    pub fn abort_all(&self) {
        self.queue.lock().tasks.drain(..).for_each(|pending| pending.task.abort());
    }
}
