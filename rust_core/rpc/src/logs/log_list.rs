//! List of logs that a search builds.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use foreseal_chain::{CachedLog, LogJsonCache};
use foreseal_primitives::{FoundLog, LogFilter, LogSink, mutant};
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
    most: u64,
    began: Instant,
    time: Duration,
    stop: Option<SearchStop>,
    notes: Option<Arc<LogJsonCache>>,
}

impl LogList {
    /// Creates an empty list of at most `most` logs that are found within `time`.
    pub fn within(most: u64, time: Duration) -> Self {
        Self { json: vec![b'['], count: 0, most, began: arrival(), time, stop: None, notes: None }
    }

    /// Creates an empty list without limits, for one block.
    pub fn unlimited() -> Self {
        Self::within(u64::MAX, Duration::MAX)
    }

    /// Uses `notes` as a cache of rendered logs: reads cached ones and stores the others.
    #[must_use]
    pub fn with_notes(self, notes: Option<&Arc<LogJsonCache>>) -> Self {
        Self { notes: notes.cloned(), ..self }
    }

    /// Returns the reason for which the search ended early.
    pub fn stop(&self) -> Option<SearchStop> {
        self.stop
    }

    /// Returns the reason for which the scheduler ended the job, if it did.
    pub fn stopped(&self) -> Option<Stopped> {
        match self.stop {
            Some(SearchStop::Stopped(stopped)) => Some(stopped),
            Some(SearchStop::Full | SearchStop::Late) | None => None,
        }
    }

    /// Appends a log, or breaks if the list is full.
    pub fn add(&mut self, found: &FoundLog<'_>, removed: bool) -> ControlFlow<()> {
        self.begin()?;
        write_log(&mut self.json, found, removed);
        ControlFlow::Continue(())
    }

    /// Reserves an entry for another log, or breaks if the list is full.
    fn begin(&mut self) -> ControlFlow<()> {
        if self.count >= self.most && !mutant!("skip-log-limit") {
            self.stop = Some(SearchStop::Full);
            return ControlFlow::Break(());
        }
        if self.count > 0 {
            self.json.push(b',');
        }
        self.count += 1;
        ControlFlow::Continue(())
    }

    /// Returns the finished list.
    pub fn into_json(mut self) -> Vec<u8> {
        self.json.push(b']');
        self.json
    }
}

impl LogSink for LogList {
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.add(found, false)
    }

    fn stored(&mut self, ordinal: u64, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.begin()?;
        let start = self.json.len();
        write_log(&mut self.json, found, false);
        if let Some(notes) = &self.notes {
            notes.insert(ordinal, CachedLog { log: found.log.clone(), shown: self.json[start..].into() });
        }
        ControlFlow::Continue(())
    }

    fn recall(&mut self, ordinal: u64, filter: &LogFilter) -> Option<ControlFlow<()>> {
        let note = self.notes.as_ref()?.get(ordinal).filter(|note| filter.matches(&note.log))?;
        let room = self.begin();
        if room.is_continue() {
            self.json.extend_from_slice(&note.shown);
        }
        Some(room)
    }

    fn pause(&mut self) -> ControlFlow<()> {
        let stop = if self.began.elapsed() > self.time {
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
}
