//! The sequencer's response to a submission.

use foreseal_pool::{Admission, PoolError};
use serde::{Deserialize, Serialize};

use crate::SubmitError;

/// Response to a submission that a follower forwarded. It is sent after the effects of the submission on the
/// pool.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Outcome {
    Admitted(Admission),
    Refused(PoolError),
    /// Production has stopped, for this reason.
    Stopped(String),
    Starting,
}

impl Outcome {
    /// Converts the result that a client of the sequencer would have received.
    pub fn from_result(answer: Result<Admission, SubmitError>) -> Self {
        match answer {
            Ok(admission) => Self::Admitted(admission),
            Err(SubmitError::Refused(error)) => Self::Refused(error),
            Err(SubmitError::Stopped(reason)) => Self::Stopped(reason),
            Err(SubmitError::Starting) => Self::Starting,
            // A sequencer never forwards submissions.
            Err(error) => Self::Stopped(error.to_string()),
        }
    }
}
