//! Messages from a follower.

use alloy_primitives::{B256, Bytes};
use foreseal_journal::Identity;
use foreseal_primitives::wire::{decode, encode};
use foreseal_store::DamageReport;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{WireError, frame::framed};

/// Version of the frames. The sequencer rejects a greeting with another version; the greeting's prefix never
/// changes.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"FSEALFED";

/// Position from which a follower continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Cursor {
    /// Continues with this append: the follower started from a store that has everything before it.
    From { sequence: u64 },
    /// Continues after this append, which it has applied and which the journal must have with this hash.
    After { sequence: u64, hash: B256 },
}

/// Function of a follower in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowerRole {
    /// Serves requests on the sequencer's machine, from the sequencer's store.
    Worker,
    /// Serves requests from a store of its own.
    Replica,
    /// Replaces the sequencer when that one fails.
    Standby,
}

impl FollowerRole {
    /// Returns the name of the role in JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Replica => "replica",
            Self::Standby => "standby",
        }
    }
}

/// The first frame of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hello {
    pub identity: Identity,
    /// Name of the follower in metrics.
    pub name: String,
    pub role: FollowerRole,
    /// Random number of this run of the process; zeros for a worker.
    pub run_id: [u8; 16],
    /// Version of the program.
    pub version: String,
    /// Address of the follower's RPC server, for display; empty if it has none.
    pub rpc: String,
    pub cursor: Cursor,
}

/// A frame from a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Hello(Hello),
    /// The first frame of a connection that transfers a copy of the data directory, instead of the greeting. `None`
    /// accepts any chain.
    DirectoryCopy {
        identity: Option<Identity>,
    },
    /// Heartbeat; `next` is the sequence number of the append that it applies next.
    Alive {
        next: u64,
    },
    /// Its metrics, rendered.
    Report(Bytes),
    /// A decoded submission. With `runnable` it is rejected if it cannot be executed in the next step. The
    /// response carries the same number.
    Submit {
        number: u64,
        runnable: bool,
        submission: Bytes,
    },
    /// Report of damage that it found in the store that both processes read.
    Damaged(DamageReport),
    /// A request that the node forwards without interpreting it. The response carries the same number.
    Query {
        number: u64,
        query: Bytes,
    },
}

const HELLO: u8 = 1;
const ALIVE: u8 = 2;
const REPORT: u8 = 3;
const SUBMIT: u8 = 4;
const QUERY: u8 = 5;
const DAMAGED: u8 = 6;
const SNAPSHOT: u8 = 7;

/// Appends a first frame of a connection, which begins with the version.
fn write_first(message: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    encode(message, out);
}

/// Reads a first frame of a connection.
fn read_first<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<T, WireError> {
    let rest = body.strip_prefix(MAGIC).ok_or(WireError::NoGreeting)?;
    let (version, rest) = rest.split_first_chunk().ok_or(WireError::NoGreeting)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(WireError::Version { found: version, own: VERSION });
    }
    exact(kind, rest)
}

impl Request {
    /// Encodes the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => framed(HELLO, |out| write_first(hello, out)),
            Self::DirectoryCopy { identity } => framed(SNAPSHOT, |out| write_first(identity, out)),
            Self::Alive { next } => framed(ALIVE, |out| encode(next, out)),
            Self::Report(metrics) => framed(REPORT, |out| encode(metrics, out)),
            Self::Damaged(report) => framed(DAMAGED, |out| encode(report, out)),
            Self::Query { number, query } => framed(QUERY, |out| encode(&(number, query), out)),
            Self::Submit { number, runnable, submission } => {
                framed(SUBMIT, |out| encode(&(number, runnable, submission), out))
            }
        }
    }

    /// Decodes a frame's body.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Self, WireError> {
        Ok(match kind {
            HELLO => Self::Hello(read_first(kind, body)?),
            SNAPSHOT => Self::DirectoryCopy { identity: read_first(kind, body)? },
            ALIVE => Self::Alive { next: exact(kind, body)? },
            REPORT => Self::Report(exact(kind, body)?),
            SUBMIT => {
                let (number, runnable, submission) = exact(kind, body)?;
                Self::Submit { number, runnable, submission }
            }
            DAMAGED => Self::Damaged(exact(kind, body)?),
            QUERY => {
                let (number, query) = exact(kind, body)?;
                Self::Query { number, query }
            }
            _ => return Err(WireError::Kind(kind)),
        })
    }
}

/// Decodes a message that must fill the body.
pub(super) fn exact<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<T, WireError> {
    decode(body).map_err(|error| WireError::Body { kind, error })
}
