//! Messages from the sequencer.

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use foreseal_journal::{Identity, RawAppend};
use foreseal_primitives::wire::encode;
use serde::{Deserialize, Serialize};

use super::{
    Outcome, WireError,
    frame::framed,
    request::{VERSION, exact},
};
use crate::{
    phase::{Phase, PoolStart},
    production::Production,
    store_status::StoreStatus,
};
use foreseal_chain::FinalityDepth;

/// The sequencer's block production settings, with which followers show what it would build.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Welcome {
    pub produces: bool,
    pub production: Production,
    pub depth: FinalityDepth,
}

/// A heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Heartbeat {
    /// `true` if the sequencer has ticked since the last heartbeat.
    pub ticked: bool,
    /// Time since its last tick.
    pub age: Duration,
    /// Sequence number of the append that it publishes next.
    pub next: u64,
    /// Number of the newest sealed block that it shows.
    pub latest: u64,
}

/// Status of the sequencer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SequencerReport {
    pub phase: Phase,
    pub pool_start: PoolStart,
    /// Address whose signatures the steps have.
    pub signer: Option<Address>,
    pub store: Option<StoreStatus>,
    /// `None` if the sequencer has no quorum journal.
    pub owner: Option<OwnerReport>,
}

/// The owner of a chain with a quorum journal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OwnerReport {
    /// Number of its ownership.
    pub epoch: u64,
    pub name: String,
}

/// Reason for which the sequencer ends a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize, Serialize)]
pub enum Ending {
    #[error("the sequencer is stopping")]
    Stopping,
    #[error("the sequencer does not have the cursor")]
    CursorGone,
    #[error("the follower fell behind the retained frames")]
    FellBehind,
    #[error("rejected by the sequencer: {0}")]
    Refused(String),
    /// A later attempt may succeed.
    #[error("the sequencer sends {limit} snapshots, its maximum: try again later")]
    Busy { limit: u32 },
}

/// A frame from the sequencer.
#[derive(Clone, Debug)]
pub enum Response {
    Welcome(Welcome),
    Append(RawAppend),
    /// A change of the pool, as the pool encodes it. The first one contains the whole pool: from there on the
    /// follower is up to date.
    Pool(Bytes),
    Heartbeat(Heartbeat),
    SequencerReport(SequencerReport),
    /// Response to the request with this number; empty if the request was not understood.
    Reply {
        number: u64,
        answer: Bytes,
    },
    /// Response to the submission with this number.
    Answer {
        number: u64,
        outcome: Outcome,
    },
    /// A copy of the data directory of this chain follows, as raw bytes up to the end of the connection.
    DirectoryCopy(Identity),
    End(Ending),
}

const WELCOME: u8 = 1;
const APPEND: u8 = 2;
const POOL: u8 = 3;
const HEARTBEAT: u8 = 4;
const REPORT: u8 = 5;
const END: u8 = 6;
const ANSWER: u8 = 7;
const REPLY: u8 = 8;
const SNAPSHOT: u8 = 9;

/// Upper bound of the size of an append's frame before its records: sequence number, hash, count and length.
const APPEND_FRONT: usize = 64;

impl Response {
    /// Encodes the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => framed(WELCOME, |out| encode(&(VERSION, welcome), out)),
            Self::Append(append) => framed(APPEND, |out| {
                out.reserve(APPEND_FRONT + append.records.len());
                encode(append, out);
            }),
            Self::Pool(event) => framed(POOL, |out| out.extend_from_slice(event)),
            Self::Heartbeat(pulse) => framed(HEARTBEAT, |out| encode(pulse, out)),
            Self::SequencerReport(report) => framed(REPORT, |out| encode(report, out)),
            Self::Reply { number, answer } => framed(REPLY, |out| encode(&(number, answer), out)),
            Self::Answer { number, outcome } => framed(ANSWER, |out| encode(&(number, outcome), out)),
            Self::DirectoryCopy(identity) => framed(SNAPSHOT, |out| encode(identity, out)),
            Self::End(ending) => framed(END, |out| encode(ending, out)),
        }
    }

    /// Decodes a frame's body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, WireError> {
        Ok(match kind {
            WELCOME => {
                let (version, welcome) = exact(kind, &body)?;
                if version != VERSION {
                    return Err(WireError::Version { found: version, own: VERSION });
                }
                Self::Welcome(welcome)
            }
            APPEND => Self::Append(exact(kind, &body)?),
            POOL => Self::Pool(body.into()),
            HEARTBEAT => Self::Heartbeat(exact(kind, &body)?),
            REPORT => Self::SequencerReport(exact(kind, &body)?),
            REPLY => {
                let (number, answer) = exact(kind, &body)?;
                Self::Reply { number, answer }
            }
            ANSWER => {
                let (number, outcome) = exact(kind, &body)?;
                Self::Answer { number, outcome }
            }
            SNAPSHOT => Self::DirectoryCopy(exact(kind, &body)?),
            END => Self::End(exact(kind, &body)?),
            _ => return Err(WireError::Kind(kind)),
        })
    }
}
