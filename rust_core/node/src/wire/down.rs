//! Messages from the sequencer.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes};
use alloy_rlp::{Encodable, RlpDecodable, RlpEncodable};
use foreseal_journal::Whole;

use super::{
    Outcome, WireError,
    frame::framed,
    up::{VERSION, exact},
};
use crate::{Phase, PoolStart, Production, ScrubStatus, StoreStatus};
use foreseal_chain::FinalityDepth;

/// The sequencer's block production settings, with which followers show what it would build.
#[derive(Clone, Debug)]
pub struct Welcome {
    pub produces: bool,
    pub production: Production,
    pub depth: FinalityDepth,
}

/// A heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub phase: Phase,
    pub pool_start: PoolStart,
    /// Address whose signatures the steps have.
    pub signer: Option<Address>,
    pub store: Option<StoreStatus>,
}

/// Reason for which the sequencer ends a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    #[error("the sequencer is stopping")]
    Stopping,
    #[error("the sequencer does not have the cursor, or no longer")]
    CursorGone,
    #[error("the follower was too slow for what is kept for it")]
    FellBehind,
    #[error("the sequencer refuses: {0}")]
    Refused(String),
}

/// A frame from the sequencer.
#[derive(Clone, Debug)]
pub enum Down {
    Welcome(Welcome),
    Append(Whole),
    /// A change of the pool, as the pool encodes it. The first one contains the whole pool: from there on the
    /// follower is up to date.
    Pool(Bytes),
    Pulse(Pulse),
    Said(Said),
    /// Response to the request with this number; empty if the request was not understood.
    Told {
        number: u64,
        answer: Bytes,
    },
    /// Response to the submission with this number.
    Answer {
        number: u64,
        outcome: Outcome,
    },
    End(Ending),
}

const WELCOME: u8 = 1;
const APPEND: u8 = 2;
const POOL: u8 = 3;
const PULSE: u8 = 4;
const SAID: u8 = 5;
const END: u8 = 6;
const ANSWER: u8 = 7;
const TOLD: u8 = 8;

/// Size of an append's frame before its records: sequence number, hash and count.
const APPEND_FRONT: usize = 8 + 32 + 4;

#[derive(RlpEncodable, RlpDecodable)]
struct WelcomeWire {
    version: u32,
    produces: bool,
    block_time: u64,
    step: u64,
    beneficiary: Address,
    /// Empty or one element.
    gas_limit: Vec<u64>,
    extra_data: Bytes,
    safe: u64,
    finalized: u64,
}

#[derive(RlpEncodable, RlpDecodable)]
struct PulseWire {
    ticked: bool,
    age: u64,
    next: u64,
    latest: u64,
}

#[derive(RlpEncodable, RlpDecodable)]
struct SaidWire {
    phase: u8,
    /// Reason of a failure; `records` is the number of replayed records.
    reason: String,
    records: u64,
    pool_start: u8,
    restored: u64,
    signer: Vec<Address>,
    store: Vec<StoreWire>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct StoreWire {
    head: Vec<u64>,
    backlog: u64,
    share: u32,
    bytes: u64,
    failure: Vec<String>,
    scrub: ScrubWire,
}

#[derive(RlpEncodable, RlpDecodable)]
struct ScrubWire {
    bytes: u64,
    total: u64,
    passes: u64,
    damaged: u64,
    unchecked: u64,
    errors: u64,
    last: Vec<u64>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct EndWire {
    kind: u8,
    reason: String,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Welcome {
    fn wire(&self) -> WelcomeWire {
        let Self { produces, production, depth } = self;
        WelcomeWire {
            version: VERSION,
            produces: *produces,
            block_time: production.block_time,
            step: millis(production.step),
            beneficiary: production.beneficiary,
            gas_limit: production.gas_limit.into_iter().collect(),
            extra_data: production.extra_data.clone(),
            safe: depth.safe,
            finalized: depth.finalized,
        }
    }

    fn of(wire: WelcomeWire) -> Result<Self, WireError> {
        if wire.version != VERSION {
            return Err(WireError::Version { found: wire.version, own: VERSION });
        }
        let production = Production {
            block_time: wire.block_time,
            step: Duration::from_millis(wire.step),
            beneficiary: wire.beneficiary,
            gas_limit: wire.gas_limit.first().copied(),
            extra_data: wire.extra_data,
        };
        let depth = FinalityDepth { safe: wire.safe, finalized: wire.finalized };
        Ok(Self { produces: wire.produces, production, depth })
    }
}

impl Said {
    fn wire(&self) -> SaidWire {
        let Self { phase, pool_start, signer, store } = self;
        let (phase, reason, records) = match phase {
            Phase::Replaying { records } => (0, String::new(), *records),
            Phase::Producing => (1, String::new(), 0),
            Phase::Failed(reason) => (3, reason.clone(), 0),
            Phase::Stopped => (4, String::new(), 0),
            // A sequencer is never a follower.
            Phase::Serving | Phase::Following | Phase::Disconnected(_) => (2, String::new(), 0),
        };
        let (pool_start, restored) = match pool_start {
            PoolStart::New => (0, 0),
            PoolStart::Restored(count) => (1, *count as u64),
            PoolStart::LostInCrash => (2, 0),
        };
        let store = store.iter().map(|store| StoreWire {
            head: store.head.into_iter().collect(),
            backlog: store.backlog as u64,
            share: store.share,
            bytes: store.bytes,
            failure: store.failure.iter().cloned().collect(),
            scrub: ScrubWire {
                bytes: store.scrub.bytes,
                total: store.scrub.total,
                passes: store.scrub.passes,
                damaged: store.scrub.damaged,
                unchecked: store.scrub.unchecked,
                errors: store.scrub.errors,
                last: store.scrub.last.into_iter().collect(),
            },
        });
        let (signer, store) = (signer.iter().copied().collect(), store.collect());
        SaidWire { phase, reason, records, pool_start, restored, signer, store }
    }

    fn of(wire: SaidWire) -> Option<Self> {
        let phase = match wire.phase {
            0 => Phase::Replaying { records: wire.records },
            1 => Phase::Producing,
            2 => Phase::Serving,
            3 => Phase::Failed(wire.reason),
            4 => Phase::Stopped,
            _ => return None,
        };
        let pool_start = match wire.pool_start {
            0 => PoolStart::New,
            1 => PoolStart::Restored(usize::try_from(wire.restored).ok()?),
            2 => PoolStart::LostInCrash,
            _ => return None,
        };
        let store = wire.store.into_iter().next().map(|store| {
            Some(StoreStatus {
                head: store.head.first().copied(),
                backlog: usize::try_from(store.backlog).ok()?,
                share: store.share,
                bytes: store.bytes,
                failure: store.failure.into_iter().next(),
                scrub: ScrubStatus {
                    bytes: store.scrub.bytes,
                    total: store.scrub.total,
                    passes: store.scrub.passes,
                    damaged: store.scrub.damaged,
                    unchecked: store.scrub.unchecked,
                    errors: store.scrub.errors,
                    last: store.scrub.last.first().copied(),
                },
            })
        });
        let store = match store {
            Some(None) => return None,
            found => found.flatten(),
        };
        Some(Self { phase, pool_start, signer: wire.signer.first().copied(), store })
    }
}

impl Ending {
    fn wire(&self) -> EndWire {
        let (kind, reason) = match self {
            Self::Stopping => (0, ""),
            Self::CursorGone => (1, ""),
            Self::FellBehind => (2, ""),
            Self::Refused(reason) => (3, reason.as_str()),
        };
        EndWire { kind, reason: reason.to_owned() }
    }

    fn of(EndWire { kind, reason }: EndWire) -> Option<Self> {
        Some(match kind {
            0 => Self::Stopping,
            1 => Self::CursorGone,
            2 => Self::FellBehind,
            3 => Self::Refused(reason),
            _ => return None,
        })
    }
}

fn write_append(append: &Whole, out: &mut Vec<u8>) {
    out.reserve(APPEND_FRONT + append.records.len());
    out.extend_from_slice(&append.sequence.to_le_bytes());
    out.extend_from_slice(append.hash.as_slice());
    out.extend_from_slice(&append.count.to_le_bytes());
    out.extend_from_slice(&append.records);
}

fn read_append(body: &[u8]) -> Option<Whole> {
    let (sequence, rest) = body.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk::<32>()?;
    let (count, records) = rest.split_first_chunk()?;
    Some(Whole {
        sequence: u64::from_le_bytes(*sequence),
        hash: B256::from(hash),
        count: u32::from_le_bytes(*count),
        records: records.to_vec(),
    })
}

impl Down {
    /// Encodes the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => framed(WELCOME, |out| welcome.wire().encode(out)),
            Self::Append(append) => framed(APPEND, |out| write_append(append, out)),
            Self::Pool(event) => framed(POOL, |out| out.extend_from_slice(event)),
            Self::Pulse(Pulse { ticked, age, next, latest }) => {
                let wire = PulseWire { ticked: *ticked, age: millis(*age), next: *next, latest: *latest };
                framed(PULSE, |out| wire.encode(out))
            }
            Self::Said(said) => framed(SAID, |out| said.wire().encode(out)),
            Self::Told { number, answer } => framed(TOLD, |out| {
                out.extend_from_slice(&number.to_le_bytes());
                out.extend_from_slice(answer);
            }),
            Self::Answer { number, outcome } => framed(ANSWER, |out| {
                out.extend_from_slice(&number.to_le_bytes());
                outcome.write(out);
            }),
            Self::End(ending) => framed(END, |out| ending.wire().encode(out)),
        }
    }

    /// Decodes a frame's body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Self, WireError> {
        let unknown =
            || WireError::Body { kind, error: alloy_rlp::Error::Custom("it says what is not known") };
        let short = || WireError::Body { kind, error: alloy_rlp::Error::InputTooShort };
        Ok(match kind {
            WELCOME => Self::Welcome(Welcome::of(exact(kind, &body)?)?),
            APPEND => Self::Append(read_append(&body).ok_or_else(short)?),
            POOL => Self::Pool(body.into()),
            PULSE => {
                let PulseWire { ticked, age, next, latest } = exact(kind, &body)?;
                Self::Pulse(Pulse { ticked, age: Duration::from_millis(age), next, latest })
            }
            SAID => Self::Said(Said::of(exact(kind, &body)?).ok_or_else(unknown)?),
            TOLD => {
                let (number, answer) = body.split_first_chunk().ok_or_else(short)?;
                Self::Told { number: u64::from_le_bytes(*number), answer: answer.to_vec().into() }
            }
            ANSWER => {
                let (number, outcome) = body.split_first_chunk().ok_or_else(short)?;
                let outcome = Outcome::read(outcome).map_err(|error| WireError::Body { kind, error })?;
                Self::Answer { number: u64::from_le_bytes(*number), outcome }
            }
            END => Self::End(Ending::of(exact(kind, &body)?).ok_or_else(unknown)?),
            _ => return Err(WireError::Kind(kind)),
        })
    }
}
