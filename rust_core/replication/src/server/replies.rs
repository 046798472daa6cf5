//! Responses to a follower's requests, each with a position in the stream.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Frames of responses, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Replies(Mutex<VecDeque<(u64, Vec<u8>)>>);

impl Replies {
    /// Queues `frame` to be sent after everything before position `at` of the log.
    pub fn add(&self, at: u64, frame: Vec<u8>) {
        self.0.lock().push_back((at, frame));
    }

    /// Returns the frames that are due at position `at`.
    pub fn due(&self, at: u64) -> Vec<Vec<u8>> {
        let mut replies = self.0.lock();
        let due = replies.iter().take_while(|(position, _)| *position <= at).count();
        replies.drain(..due).map(|(_, frame)| frame).collect()
    }
}
