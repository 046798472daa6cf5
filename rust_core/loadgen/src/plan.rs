//! Plan of a run: requests, pace and duration.

use std::time::Duration;

use crate::target::{Target, masked};

/// Transport of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Http,
    WebSocket,
}

impl Transport {
    /// Returns the bytes to write for a body.
    pub fn bytes(self, target: &Target, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Http => target.post(body),
            Self::WebSocket => masked(body),
        }
    }
}

/// Rule that decides when the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Sends a request as soon as the previous response is complete, until `Plan::length` has passed; at least one
    /// on each connection.
    Closed,
    /// Like `Closed`, but sends each body once.
    Once,
    /// Sends `rate` requests per second, independent of the responses.
    Open { rate: f64 },
}

/// Parameters of one run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub target: Target,
    pub transport: Transport,
    /// JSON bodies of calls, sent in turn.
    pub bodies: Vec<Vec<u8>>,
    /// Error code with which every call must fail; `None` if every response must be a result.
    pub error_code: Option<i64>,
    pub connections: usize,
    pub pace: Pace,
    /// Time during which requests are started. With `Pace::Once`, the time limit of the run.
    pub length: Duration,
    /// Time to wait for responses after `length`; also the timeout for connecting.
    pub patience: Duration,
}
