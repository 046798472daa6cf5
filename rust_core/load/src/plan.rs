//! What is to be sent, how fast and for how long.

use std::time::Duration;

use crate::{Target, masked};

/// How requests reach the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Http,
    WebSocket,
}

impl Transport {
    /// What is written for a body.
    pub fn bytes(self, target: &Target, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Http => target.post(body),
            Self::WebSocket => masked(body),
        }
    }
}

/// When the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as the answer before it is whole, until the time is over.
    Closed,
    /// The same, until each body was sent once.
    Once,
    /// So many a second, whatever the answers take.
    Open { rate: f64 },
}

/// One run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub target: Target,
    pub transport: Transport,
    /// Bodies of calls, taken in turn: JSON.
    pub bodies: Vec<Vec<u8>>,
    pub connections: usize,
    pub pace: Pace,
    /// How long requests are begun; with `Pace::Once` the time at which it is given up.
    pub length: Duration,
    /// How long after that answers are awaited, and how long connecting may take.
    pub patience: Duration,
}
