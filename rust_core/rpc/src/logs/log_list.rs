//! JSON list of logs, limited in number and time.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use foreseal_primitives::{FoundLog, mutant};
use foreseal_scheduler::{Stopped, arrival, checkpoint};

use crate::json::write_log;

/// Reason for which a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// Another log matches, but the list is full.
    Full,
    /// The time limit has passed.
    Late,
    /// The scheduler ended the job.
    Stopped(Stopped),
}

/// JSON list of logs, limited in number and time.
pub struct LogList {
    json: Vec<u8>,
    count: u64,
    max_logs: u64,
    began: Instant,
    max_time: Duration,
    stop: Option<SearchStop>,
}

impl LogList {
    /// Creates an empty list of at most `max_logs` logs that are found within `max_time`.
    pub fn within(max_logs: u64, max_time: Duration) -> Self {
        Self { json: vec![b'['], count: 0, max_logs, began: arrival(), max_time, stop: None }
    }

    /// Creates an empty list without limits, for one block.
    pub fn unlimited() -> Self {
        Self::within(u64::MAX, Duration::MAX)
    }

    /// Returns the number of logs in the list.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns the number of logs that still fit.
    pub fn room(&self) -> usize {
        let room = if mutant!("skip-log-limit") { u64::MAX } else { self.max_logs - self.count };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Returns the reason for which the search ended early.
    pub fn stop(&self) -> Option<SearchStop> {
        self.stop
    }

    /// Appends a log and returns its JSON, or breaks if the list is full.
    pub fn push(&mut self, found: &FoundLog<'_>, removed: bool) -> ControlFlow<(), &[u8]> {
        if self.room() == 0 {
            self.stop = Some(SearchStop::Full);
            return ControlFlow::Break(());
        }
        self.begin_entry();
        let start = self.json.len();
        write_log(&mut self.json, found, removed);
        ControlFlow::Continue(&self.json[start..])
    }

    /// Appends a log that is already rendered. The caller checks that there is [`Self::room`] for it.
    pub fn push_json(&mut self, json: &[u8]) {
        self.begin_entry();
        self.json.extend_from_slice(json);
    }

    /// Breaks if the time limit has passed or the scheduler ends the job.
    pub fn check_time(&mut self) -> ControlFlow<()> {
        let stop = if self.began.elapsed() > self.max_time {
            SearchStop::Late
        } else {
            match checkpoint() {
                Ok(()) => return ControlFlow::Continue(()),
                Err(stopped) => SearchStop::Stopped(stopped),
            }
        };
        self.stop = Some(stop);
        ControlFlow::Break(())
    }

    /// Returns the finished list.
    pub fn into_json(mut self) -> Vec<u8> {
        self.json.push(b']');
        self.json
    }

    fn begin_entry(&mut self) {
        if self.count > 0 {
            self.json.push(b',');
        }
        self.count += 1;
    }
}
