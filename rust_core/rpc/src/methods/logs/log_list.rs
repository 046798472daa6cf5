//! JSON list of logs, limited in number, bytes and time.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use foreseal_primitives::{FoundLog, LogPosition};
use foreseal_scheduler::{Stopped, arrival, checkpoint};

use crate::json::{
    answer_size::{MIN_LOG, min_log_size},
    large_answers::{LARGE, LargeAnswers, Reservation},
    log::write_log,
};

/// Reason for which a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// Another log matches, but the list has as many as it may.
    Full,
    /// Another log matches, but the list has as many bytes as it may.
    Large,
    /// Public callers have large results of `max` bytes in progress.
    Crowded { max: usize },
    /// The time limit has passed.
    Late,
    /// The scheduler ended the job.
    Stopped(Stopped),
}

/// Limits of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    pub logs: u64,
    pub bytes: usize,
    pub time: Duration,
    /// Maximum number of logs of a block in memory that is searched.
    pub scan: u64,
    /// `true` if the list is one page of many. A page has at least one log; any other list is useless unless it is
    /// complete, so that the size of its logs is computed before they are rendered.
    pub is_page: bool,
}

/// JSON list of logs, limited in number, bytes and time.
pub struct LogList {
    json: Vec<u8>,
    count: u64,
    limits: ListLimits,
    began: Instant,
    stop: Option<SearchStop>,
    /// Budget in which the list reserves room once it is large; `None` from then on.
    budget: Option<LargeAnswers>,
    reservation: Option<Reservation>,
}

impl LogList {
    /// Creates an empty list within these limits. Its time begins with the arrival of the call.
    pub fn within(limits: ListLimits) -> Self {
        let (began, json) = (arrival(), vec![b'[']);
        Self { json, count: 0, limits, began, stop: None, budget: None, reservation: None }
    }

    /// Lets the list reserve room for its maximum size once it is large.
    pub fn counted_in(self, budget: &LargeAnswers) -> Self {
        Self { budget: Some(budget.clone()), ..self }
    }

    /// Returns the number of logs in the list.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns the limits.
    pub fn limits(&self) -> &ListLimits {
        &self.limits
    }

    /// Returns the number of logs that still fit, as far as it is known before they are read.
    pub fn room(&self) -> usize {
        let room = self.limits.logs - self.count;
        usize::try_from(room).unwrap_or(usize::MAX).min(self.bytes_left() / MIN_LOG + 1)
    }

    /// Returns `true` if `room` more logs exceed the bytes of the list, but not their number.
    pub fn is_full_by_bytes(&self, room: usize) -> bool {
        MIN_LOG.saturating_mul(room) > self.bytes_left()
    }

    /// Returns the size of the largest log that still fits, next to its comma and the closing bracket.
    fn bytes_left(&self) -> usize {
        let punctuation = 1 + usize::from(self.count > 0);
        self.limits.bytes.saturating_sub(self.json.len() + punctuation)
    }

    /// Ends the search before the first of `entries` that cannot be in the list with those before it. Nothing is
    /// rendered.
    pub fn stop_if_large<'f>(&mut self, entries: impl Iterator<Item = FoundLog<'f>>) -> Option<LogPosition> {
        let mut left = self.bytes_left();
        for entry in entries {
            let Some(rest) = left.checked_sub(min_log_size(entry.log)) else {
                self.stop = Some(SearchStop::Large);
                return Some(entry.position());
            };
            left = rest;
        }
        None
    }

    /// Ends the search for this reason.
    pub fn end(&mut self, stop: SearchStop) {
        self.stop = Some(stop);
    }

    /// Returns the reason for which the search ended early.
    pub fn stop(&self) -> Option<SearchStop> {
        self.stop
    }

    /// Appends a log and returns its JSON, or breaks if the list is full.
    pub fn push(&mut self, entry: &FoundLog<'_>, removed: bool) -> ControlFlow<(), &[u8]> {
        self.check_room(min_log_size(entry.log))?;
        let end = self.json.len();
        self.begin_entry();
        let start = self.json.len();
        write_log(&mut self.json, entry, removed);
        if self.json.len() >= self.limits.bytes && !(self.limits.is_page && self.count == 1) {
            self.json.truncate(end);
            self.count -= 1;
            self.stop = Some(SearchStop::Large);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(&self.json[start..])
    }

    /// Appends a log that is already rendered, or breaks if the list is full.
    pub fn push_json(&mut self, json: &[u8]) -> ControlFlow<()> {
        self.check_room(json.len())?;
        self.begin_entry();
        self.json.extend_from_slice(json);
        ControlFlow::Continue(())
    }

    fn check_room(&mut self, size: usize) -> ControlFlow<()> {
        if self.json.len() > LARGE
            && let Some(budget) = self.budget.take()
        {
            match budget.reserve(self.limits.bytes) {
                Ok(reservation) => self.reservation = reservation,
                Err(error) => {
                    self.stop = Some(SearchStop::Crowded { max: error.max });
                    return ControlFlow::Break(());
                }
            }
        }
        let is_first_of_page = self.limits.is_page && self.count == 0;
        self.stop = if self.limits.logs <= self.count {
            Some(SearchStop::Full)
        } else if size > self.bytes_left() && !is_first_of_page {
            Some(SearchStop::Large)
        } else {
            return ControlFlow::Continue(());
        };
        ControlFlow::Break(())
    }

    /// Breaks if the time limit has passed or the scheduler ends the job.
    pub fn check_time(&mut self) -> ControlFlow<()> {
        let stop = if self.began.elapsed() > self.limits.time {
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

    /// Returns the part of the budget that the list holds.
    pub fn take_reservation(&mut self) -> Option<Reservation> {
        self.reservation.take()
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
