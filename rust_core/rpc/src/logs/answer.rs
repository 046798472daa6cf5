//! A list of logs as it grows.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use foreseal_node::{Note, Notes};
use foreseal_scheduler::{Stopped, arrival, checkpoint};
use foreseal_types::{FoundLog, LogFilter, LogSink, mutant};

use crate::json::write_log;

/// Why a search was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There is another log, and no room for it.
    Full,
    /// The time is up.
    Late,
    /// The scheduler ended the job.
    Stopped(Stopped),
}

/// Logs in JSON, up to a number and within a time.
pub struct Answer {
    json: Vec<u8>,
    count: u64,
    most: u64,
    began: Instant,
    time: Duration,
    stop: Option<Stop>,
    notes: Option<Arc<Notes>>,
}

impl Answer {
    /// An empty list for at most `most` logs that are found within `time`.
    pub fn within(most: u64, time: Duration) -> Self {
        Self { json: vec![b'['], count: 0, most, began: arrival(), time, stop: None, notes: None }
    }

    /// An empty list without bounds, for one block.
    pub fn unlimited() -> Self {
        Self::within(u64::MAX, Duration::MAX)
    }

    /// Takes what has notes from them, and makes a note of what has none.
    #[must_use]
    pub fn with_notes(self, notes: Option<&Arc<Notes>>) -> Self {
        Self { notes: notes.cloned(), ..self }
    }

    /// Why the search did not come to its end.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Returns the reason for which the scheduler ended the job, if it did.
    pub fn stopped(&self) -> Option<Stopped> {
        match self.stop {
            Some(Stop::Stopped(stopped)) => Some(stopped),
            Some(Stop::Full | Stop::Late) | None => None,
        }
    }

    /// Adds a log, or says that there is no room for it.
    pub fn add(&mut self, found: &FoundLog<'_>, removed: bool) -> ControlFlow<()> {
        self.begin()?;
        write_log(&mut self.json, found, removed);
        ControlFlow::Continue(())
    }

    /// Makes room for another log, if there is some.
    fn begin(&mut self) -> ControlFlow<()> {
        if self.count >= self.most && !mutant!("skip-log-limit") {
            self.stop = Some(Stop::Full);
            return ControlFlow::Break(());
        }
        if self.count > 0 {
            self.json.push(b',');
        }
        self.count += 1;
        ControlFlow::Continue(())
    }

    /// The list.
    pub fn into_json(mut self) -> Vec<u8> {
        self.json.push(b']');
        self.json
    }
}

impl LogSink for Answer {
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.add(found, false)
    }

    fn stored(&mut self, ordinal: u64, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.begin()?;
        let start = self.json.len();
        write_log(&mut self.json, found, false);
        if let Some(notes) = &self.notes {
            notes.keep(ordinal, Note { log: found.log.clone(), shown: self.json[start..].into() });
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
            Stop::Late
        } else {
            match checkpoint() {
                Ok(()) => return ControlFlow::Continue(()),
                Err(stopped) => Stop::Stopped(stopped),
            }
        };
        self.stop = Some(stop);
        ControlFlow::Break(())
    }
}
