//! The sequencer's response to a submission.

use alloy_primitives::B256;
use foreseal_pool::{Admission, PoolError};
use serde::{Deserialize, Serialize};

use crate::submit_error::SubmitError;

/// Response to a submission that a follower forwarded. It is sent after the effects of the submission on the
/// pool.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Outcome {
    Admitted(Admission),
    Refused(PoolError),
    /// Production has stopped, for this reason.
    Stopped(String),
    Starting,
    /// The process that follows the sequencer has no connection to it.
    Away,
    /// The connection to the sequencer broke before its response.
    Unknown {
        hash: B256,
    },
    Busy {
        max: u64,
    },
    NoQuorum {
        age_ms: u64,
    },
}

impl Outcome {
    /// Converts the result that a client of the sequencer would have received.
    pub fn from_result(answer: Result<Admission, SubmitError>) -> Self {
        match answer {
            Ok(admission) => Self::Admitted(admission),
            Err(SubmitError::Refused(error)) => Self::Refused(error),
            Err(SubmitError::Stopped(reason)) => Self::Stopped(reason),
            Err(SubmitError::Starting) => Self::Starting,
            Err(SubmitError::Away) => Self::Away,
            Err(SubmitError::Unknown { hash }) => Self::Unknown { hash },
            Err(SubmitError::Busy { max }) => Self::Busy { max },
            Err(SubmitError::NoQuorum { age_ms }) => Self::NoQuorum { age_ms },
        }
    }

    /// Converts the response back to that result.
    pub fn into_result(self) -> Result<Admission, SubmitError> {
        match self {
            Self::Admitted(admission) => Ok(admission),
            Self::Refused(error) => Err(SubmitError::Refused(error)),
            Self::Stopped(reason) => Err(SubmitError::Stopped(reason)),
            Self::Starting => Err(SubmitError::Starting),
            Self::Away => Err(SubmitError::Away),
            Self::Unknown { hash } => Err(SubmitError::Unknown { hash }),
            Self::Busy { max } => Err(SubmitError::Busy { max }),
            Self::NoQuorum { age_ms } => Err(SubmitError::NoQuorum { age_ms }),
        }
    }
}
