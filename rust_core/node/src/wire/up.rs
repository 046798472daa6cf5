//! Messages from a follower.

use alloy_primitives::{B256, Bytes};
use alloy_rlp::{Decodable, Encodable, RlpDecodable, RlpEncodable};
use foreseal_journal::Identity;
use foreseal_store::DamageReport;

use super::{WireError, frame::framed};

/// Version of the frames. The sequencer rejects a greeting with another version; the greeting's prefix never
/// changes.
pub const VERSION: u32 = 3;

const MAGIC: &[u8; 8] = b"FSEALFED";

/// Position from which a follower continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Continues with this append: the follower started from a store that has everything before it.
    From { sequence: u64 },
    /// Continues after this append, which it has applied and which the journal must have with this hash.
    After { sequence: u64, hash: B256 },
}

/// The first frame of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub identity: Identity,
    /// Name of the follower in metrics.
    pub name: String,
    pub cursor: Cursor,
}

/// A frame from a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    Hello(Hello),
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
    Ask {
        number: u64,
        question: Bytes,
    },
}

const HELLO: u8 = 1;
const ALIVE: u8 = 2;
const REPORT: u8 = 3;
const SUBMIT: u8 = 4;
const ASK: u8 = 5;
const DAMAGED: u8 = 6;

#[derive(RlpEncodable, RlpDecodable)]
struct HelloWire {
    chain_id: u64,
    genesis: B256,
    name: String,
    after: bool,
    sequence: u64,
    hash: B256,
}

#[derive(RlpEncodable, RlpDecodable)]
struct SubmitWire {
    number: u64,
    runnable: bool,
    submission: Bytes,
}

#[derive(RlpEncodable, RlpDecodable)]
struct DamagedWire {
    table: String,
    key: Bytes,
    has_page: bool,
    page: u64,
    reason: String,
}

impl DamagedWire {
    fn from_report(report: &DamageReport) -> Self {
        let DamageReport { table, key, page, reason } = report.clone();
        Self { table, key: key.into(), has_page: page.is_some(), page: page.unwrap_or_default(), reason }
    }

    fn report(self) -> DamageReport {
        let Self { table, key, has_page, page, reason } = self;
        DamageReport { table, key: key.to_vec(), page: has_page.then_some(page), reason }
    }
}

impl Hello {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        let Identity { chain_id, genesis } = self.identity;
        let (after, sequence, hash) = match self.cursor {
            Cursor::From { sequence } => (false, sequence, B256::ZERO),
            Cursor::After { sequence, hash } => (true, sequence, hash),
        };
        HelloWire { chain_id, genesis, name: self.name.clone(), after, sequence, hash }.encode(out);
    }

    fn read(body: &[u8]) -> Result<Self, WireError> {
        let rest = body.strip_prefix(MAGIC).ok_or(WireError::NoGreeting)?;
        let (version, rest) = rest.split_first_chunk().ok_or(WireError::NoGreeting)?;
        let found = u32::from_le_bytes(*version);
        if found != VERSION {
            return Err(WireError::Version { found, own: VERSION });
        }
        let wire: HelloWire = exact(HELLO, rest)?;
        let HelloWire { chain_id, genesis, name, after, sequence, hash } = wire;
        let cursor = if after { Cursor::After { sequence, hash } } else { Cursor::From { sequence } };
        Ok(Self { identity: Identity { chain_id, genesis }, name, cursor })
    }
}

impl Up {
    /// Encodes the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => framed(HELLO, |out| hello.write(out)),
            Self::Alive { next } => framed(ALIVE, |out| next.encode(out)),
            Self::Report(metrics) => framed(REPORT, |out| out.extend_from_slice(metrics)),
            Self::Damaged(report) => framed(DAMAGED, |out| DamagedWire::from_report(report).encode(out)),
            Self::Ask { number, question } => framed(ASK, |out| {
                out.extend_from_slice(&number.to_le_bytes());
                out.extend_from_slice(question);
            }),
            Self::Submit { number, runnable, submission } => {
                let (number, runnable, submission) = (*number, *runnable, submission.clone());
                framed(SUBMIT, |out| SubmitWire { number, runnable, submission }.encode(out))
            }
        }
    }

    /// Decodes a frame's body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, WireError> {
        Ok(match kind {
            HELLO => Self::Hello(Hello::read(&body)?),
            ALIVE => Self::Alive { next: exact(kind, &body)? },
            REPORT => Self::Report(body.into()),
            SUBMIT => {
                let SubmitWire { number, runnable, submission } = exact(kind, &body)?;
                Self::Submit { number, runnable, submission }
            }
            DAMAGED => Self::Damaged(exact::<DamagedWire>(kind, &body)?.report()),
            ASK => {
                let short = WireError::Body { kind, error: alloy_rlp::Error::InputTooShort };
                let (number, question) = body.split_first_chunk().ok_or(short)?;
                Self::Ask { number: u64::from_le_bytes(*number), question: question.to_vec().into() }
            }
            _ => return Err(WireError::Kind(kind)),
        })
    }
}

/// Decodes one RLP item that must fill the body.
pub(super) fn exact<T: Decodable>(kind: u8, body: &[u8]) -> Result<T, WireError> {
    alloy_rlp::decode_exact(body).map_err(|error| WireError::Body { kind, error })
}
