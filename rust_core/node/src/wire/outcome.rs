//! The sequencer's response to a submission.

use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, Encodable};
use foreseal_pool::{Admission, PoolError};

use crate::SubmitError;

/// Response to a submission that a follower forwarded. It is sent after the effects of the submission on the
/// pool.
#[derive(Clone, Debug)]
pub enum Outcome {
    Admitted(Admission),
    Refused(PoolError),
    /// Production has stopped, for this reason.
    Stopped(String),
    Starting,
}

const ADMITTED: u8 = 0;
const REFUSED: u8 = 1;
const STOPPED: u8 = 2;
const STARTING: u8 = 3;

impl Outcome {
    /// Converts the result that a client of the sequencer would have received.
    pub fn of(answer: Result<Admission, SubmitError>) -> Self {
        match answer {
            Ok(admission) => Self::Admitted(admission),
            Err(SubmitError::Refused(error)) => Self::Refused(error),
            Err(SubmitError::Stopped(reason)) => Self::Stopped(reason),
            Err(SubmitError::Starting) => Self::Starting,
            // A sequencer never forwards submissions.
            Err(error) => Self::Stopped(error.to_string()),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Admitted(admission) => {
                out.push(ADMITTED);
                admission.encode(out);
            }
            Self::Refused(error) => {
                out.push(REFUSED);
                error.encode(out);
            }
            Self::Stopped(reason) => {
                out.push(STOPPED);
                Bytes::copy_from_slice(reason.as_bytes()).encode(out);
            }
            Self::Starting => out.push(STARTING),
        }
    }

    pub(super) fn read(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let (kind, mut rest) = bytes.split_first().ok_or(alloy_rlp::Error::InputTooShort)?;
        Ok(match *kind {
            ADMITTED => Self::Admitted(Admission::decode(rest)?),
            REFUSED => Self::Refused(PoolError::decode(rest)?),
            STOPPED => {
                let reason = String::from_utf8_lossy(&Bytes::decode(&mut rest)?).into_owned();
                Self::Stopped(reason)
            }
            STARTING => Self::Starting,
            _ => return Err(alloy_rlp::Error::Custom("unknown kind of answer")),
        })
    }
}
