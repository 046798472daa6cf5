//! Responses to a follower's requests, each with a position in the stream.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Maximum bytes of waiting responses. A follower that sends requests and does not read the responses is
/// disconnected.
const MAX_SIZE: usize = 64 << 20;
/// Size of an entry in addition to its frame.
const ENTRY_OVERHEAD: usize = 64;

/// Frames of responses, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Replies(Mutex<WaitingReplies>);

#[derive(Debug, Default)]
struct WaitingReplies {
    frames: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

impl Replies {
    /// Queues `frame` to be sent after everything before position `at` of the log.
    pub fn add(&self, at: u64, frame: Vec<u8>) {
        let mut waiting = self.0.lock();
        waiting.bytes += frame.len() + ENTRY_OVERHEAD;
        waiting.frames.push_back((at, frame));
    }

    /// Returns `true` if the waiting responses exceed the limit.
    pub fn is_full(&self) -> bool {
        self.0.lock().bytes > MAX_SIZE
    }

    /// Returns the frames that are due at position `at`.
    pub fn due(&self, at: u64) -> Vec<Vec<u8>> {
        let mut waiting = self.0.lock();
        let due = waiting.frames.iter().take_while(|(position, _)| *position <= at).count();
        let frames: Vec<_> = waiting.frames.drain(..due).map(|(_, frame)| frame).collect();
        waiting.bytes -= frames.iter().map(|frame| frame.len() + ENTRY_OVERHEAD).sum::<usize>();
        frames
    }
}
