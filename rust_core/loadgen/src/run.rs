//! Event loop over connections, each with at most one request in flight.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::connection::{Connection, OpenError, Outcome};
use crate::{
    plan::{Pace, Plan},
    run_metrics::{FailedResponse, RunMetrics},
};

/// Callback that receives the number of results about ten times a second. Returning `false` ends the run.
pub type ProgressCheck<'a> = &'a mut dyn FnMut(u64) -> bool;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
const TIMER: Token = Token(usize::MAX);
/// Maximum time that the loop blocks to reopen a connection.
const REOPEN_DELAY: Duration = Duration::from_secs(1);

/// Error that prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    Plan(&'static str),
    #[error("cannot connect to {address}: {error}")]
    Open { address: std::net::SocketAddr, error: OpenError },
    #[error("cannot watch connections: {0}")]
    Poll(#[from] io::Error),
    #[error("subscription: {0}")]
    Subscription(String),
}

/// Executes the plan and returns its results.
///
/// # Errors
///
/// Returns an error if the plan is invalid, a connection cannot be opened, or polling fails.
pub fn run(plan: &Plan, keep_going: ProgressCheck<'_>) -> Result<RunMetrics, LoadError> {
    if plan.bodies.is_empty() {
        return Err(LoadError::Plan("bodies: there are none"));
    }
    if plan.connections == 0 {
        return Err(LoadError::Plan("connections: at least one is needed"));
    }
    if let Pace::Open { rate } = plan.pace
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(LoadError::Plan("rate: it must be greater than zero"));
    }
    let mut run = Run::open(plan)?;
    run.drive(keep_going)?;
    Ok(run.finish())
}

#[derive(Clone, Copy)]
struct PendingRequest {
    body: usize,
    since: Instant,
    /// `true` if the request was already sent on a connection that the server then closed.
    again: bool,
}

struct ConnectionSlot {
    connection: Option<Connection>,
    waiting: Option<PendingRequest>,
    /// Index of the next body that this connection sends in the closed loop.
    next: usize,
    /// `true` if this connection has received a response.
    used: bool,
}

struct Run<'a> {
    plan: &'a Plan,
    requests: Vec<Vec<u8>>,
    poll: Poll,
    timer: OwnedFd,
    slots: Vec<ConnectionSlot>,
    free: VecDeque<usize>,
    in_flight: usize,
    start: Instant,
    end: Instant,
    last: Instant,
    /// Number of open-loop requests sent so far.
    sent: u64,
    metrics: RunMetrics,
}

impl<'a> Run<'a> {
    fn open(plan: &'a Plan) -> Result<Self, LoadError> {
        let poll = Poll::new()?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .map_err(io::Error::from)?;
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let requests = plan.bodies.iter().map(|body| plan.transport.bytes(&plan.target, body)).collect();
        let mut slots = Vec::with_capacity(plan.connections);
        for number in 0..plan.connections {
            let connection = connect(plan, &poll, number, plan.patience)
                .map_err(|error| LoadError::Open { address: plan.target.address, error })?;
            slots.push(ConnectionSlot {
                connection: Some(connection),
                waiting: None,
                next: number,
                used: false,
            });
        }
        let start = Instant::now();
        Ok(Self {
            plan,
            requests,
            poll,
            timer,
            free: (0..plan.connections).collect(),
            slots,
            in_flight: 0,
            start,
            end: start + plan.length,
            last: start,
            sent: 0,
            metrics: RunMetrics::default(),
        })
    }

    fn drive(&mut self, keep_going: ProgressCheck<'_>) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let discarded = if self.plan.pace == Pace::Once { self.end } else { self.end + self.plan.patience };
        let mut looked = Instant::now();
        self.dispatch(Instant::now());
        loop {
            let now = Instant::now();
            if now.duration_since(looked) >= POLL_INTERVAL {
                looked = now;
                if !keep_going(self.metrics.answered) {
                    return Ok(());
                }
            }
            if self.is_done(now) || now >= discarded {
                return Ok(());
            }
            let timeout = POLL_INTERVAL.min(discarded - now);
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in &events {
                if event.token() != TIMER {
                    self.handle_event(event.token().0, event.is_writable(), event.is_read_closed());
                }
            }
            self.dispatch(Instant::now());
        }
    }

    /// Returns `true` if no request is in flight and none will be sent.
    fn is_done(&self, now: Instant) -> bool {
        if self.in_flight > 0 {
            return false;
        }
        let alive = self.slots.iter().any(|slot| slot.connection.is_some());
        !alive
            || match self.plan.pace {
                Pace::Closed => now >= self.end,
                Pace::Once => true,
                Pace::Open { .. } => self.due(self.sent).is_none(),
            }
    }

    /// Returns the due time of request `number` in the open loop, or `None` if it is after the end.
    fn due(&self, number: u64) -> Option<Instant> {
        let Pace::Open { rate } = self.plan.pace else { return None };
        #[allow(clippy::cast_precision_loss, reason = "2^53 requests take years")]
        let after = Duration::try_from_secs_f64(number as f64 / rate).ok()?;
        (after < self.plan.length).then(|| self.start + after)
    }

    /// Sends due requests on idle connections.
    fn dispatch(&mut self, now: Instant) {
        if let Pace::Open { .. } = self.plan.pace {
            while let Some(due) = self.due(self.sent) {
                if due > now {
                    self.wake_at(due - now);
                    return;
                }
                let Some(slot) = self.free.pop_front() else { return };
                let count = self.plan.bodies.len() as u64;
                let body = usize::try_from(self.sent % count).unwrap_or_default();
                self.sent += 1;
                self.metrics.late.record(nanoseconds(now - due));
                self.begin(slot, PendingRequest { body, since: due, again: false });
            }
            return;
        }
        while let Some(slot) = self.free.pop_front() {
            let body = self.slots[slot].next;
            let over = match self.plan.pace {
                Pace::Once => body >= self.plan.bodies.len(),
                // The first request of a connection is sent in any case, so that a short run has results.
                _ => now >= self.end && body >= self.plan.connections,
            };
            if !over {
                let step = if self.plan.pace == Pace::Once { body } else { body % self.plan.bodies.len() };
                self.slots[slot].next = body + self.plan.connections;
                self.begin(slot, PendingRequest { body: step, since: Instant::now(), again: false });
            }
        }
    }

    /// Arms a timer that wakes the loop. The timeout of the poll itself has only millisecond resolution.
    fn wake_at(&self, after: Duration) {
        let after = after.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(after.subsec_nanos()),
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // If the timer cannot be set, the timeout of the poll still wakes the loop.
        let _ = timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        );
    }

    fn begin(&mut self, number: usize, waiting: PendingRequest) {
        let slot = &mut self.slots[number];
        if !slot.connection.as_ref().is_some_and(Connection::is_open) {
            if slot.used {
                self.metrics.reopened += 1;
            }
            slot.used = false;
            slot.connection = None;
            match connect(self.plan, &self.poll, number, REOPEN_DELAY.min(self.plan.patience)) {
                Ok(connection) => slot.connection = Some(connection),
                // The connection is not marked idle again, so it gets no more requests.
                Err(error) => {
                    return self.metrics.wrong(FailedResponse::new(waiting.body, 0, error.to_string(), b""));
                }
            }
        }
        slot.waiting = Some(waiting);
        self.in_flight += 1;
        let Some(connection) = &mut slot.connection else { return };
        if let Err(error) = connection.send(waiting.body, &self.requests)
            && !is_end(&error)
        {
            self.connection_closed(number, Some(error.to_string()));
        }
    }

    /// Handles an event on a connection that is readable or writable.
    fn handle_event(&mut self, number: usize, writable: bool, closed: bool) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let Some(connection) = &mut slot.connection else { return };
        if writable
            && let Err(error) = connection.flush(&self.requests)
            && !is_end(&error)
        {
            return self.connection_closed(number, Some(error.to_string()));
        }
        let outcome = connection.receive(slot.waiting.is_some(), closed);
        if let Err(error) = connection.flush(&self.requests)
            && !is_end(&error)
        {
            return self.connection_closed(number, Some(error.to_string()));
        }
        let waiting = slot.waiting;
        match (outcome, waiting) {
            (Outcome::Ended, _) => self.connection_closed(number, None),
            // A WebSocket message without a request in flight is a notification.
            (Outcome::Waiting, _) | (Outcome::Result(_), None) => {}
            (Outcome::Result(size), Some(waiting)) => {
                self.last = Instant::now();
                self.metrics.result(nanoseconds(self.last - waiting.since), size);
                self.finish_request(number);
            }
            (Outcome::FailedResponse { status, why, body: received }, waiting) => {
                let body = waiting.map_or(0, |waiting| waiting.body);
                self.last = Instant::now();
                self.metrics.wrong(FailedResponse::new(body, status, why, &received));
                if waiting.is_some() {
                    self.finish_request(number);
                }
            }
        }
    }

    /// Ends the request of this connection and marks the connection idle.
    fn finish_request(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        slot.waiting = None;
        slot.used = true;
        self.in_flight -= 1;
        self.free.push_back(number);
    }

    /// Handles a connection that the server closed.
    ///
    /// A server may close a connection between two responses. If it had answered on this connection before,
    /// the request is sent again once.
    fn connection_closed(&mut self, number: usize, why: Option<String>) {
        let slot = &mut self.slots[number];
        let waiting = slot.waiting.take();
        let used = slot.used;
        slot.connection = None;
        let Some(waiting) = waiting else { return };
        self.in_flight -= 1;
        if used && !waiting.again {
            return self.begin(number, PendingRequest { again: true, ..waiting });
        }
        slot.used = false;
        let why = why.unwrap_or_else(|| "the connection ended without an answer".to_owned());
        self.last = Instant::now();
        self.metrics.wrong(FailedResponse::new(waiting.body, 0, why, b""));
        self.free.push_back(number);
    }

    fn finish(mut self) -> RunMetrics {
        let now = Instant::now();
        for waiting in self.slots.iter().filter_map(|slot| slot.waiting) {
            self.metrics.unanswered += 1;
            self.metrics.latency.record(nanoseconds(now - waiting.since));
        }
        while let Some(due) = self.due(self.sent) {
            // `keep_going` may have ended the run early.
            if due > now {
                break;
            }
            self.sent += 1;
            self.metrics.unanswered += 1;
            self.metrics.latency.record(nanoseconds(now - due));
        }
        if self.plan.pace == Pace::Once {
            let done = self.metrics.answered + self.metrics.errors;
            self.metrics.unanswered = (self.plan.bodies.len() as u64).saturating_sub(done);
        }
        self.metrics.seconds = (self.last - self.start).as_secs_f64();
        self.metrics
    }
}

fn connect(plan: &Plan, poll: &Poll, number: usize, patience: Duration) -> Result<Connection, OpenError> {
    let mut connection = Connection::open(plan, patience)?;
    poll.registry().register(connection.stream(), Token(number), Interest::READABLE | Interest::WRITABLE)?;
    Ok(connection)
}

/// Returns `true` if a write failed because the server closed the connection. Earlier bytes from the server
/// must still be read.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
