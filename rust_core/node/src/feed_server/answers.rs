//! Answers to a follower's submissions, each for a place in the stream.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Frames of answers, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<VecDeque<(u64, Vec<u8>)>>);

impl Answers {
    /// `frame` comes behind everything before place `at` of the log.
    pub fn add(&self, at: u64, frame: Vec<u8>) {
        self.0.lock().push_back((at, frame));
    }

    /// Those whose place is reached at `at`.
    pub fn due(&self, at: u64) -> Vec<Vec<u8>> {
        let mut answers = self.0.lock();
        let due = answers.iter().take_while(|(place, _)| *place <= at).count();
        answers.drain(..due).map(|(_, frame)| frame).collect()
    }
}
