//! Tight limits of an attempt on the fast path, which runs on the receiving thread.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use foreseal_chain::{BlockId, Executed, Moment, View};
use foreseal_evm::{CallLimits, Deadline};

use crate::{Context, Error, Limits};

/// Time limit of an execution or a search.
const TIME: Duration = Duration::from_micros(200);
/// Maximum number of logs in a result.
const LOGS: u64 = 512;
/// Maximum number of transactions in the block of a request.
const TRANSACTIONS: usize = 256;
/// Maximum size of the parameters in bytes.
pub const PARAMS: usize = 16 * 1024;

/// Outcome of an attempt on the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Result as JSON, identical to that of the slow path.
    Answered(Bytes),
    /// The call reached, or would reach, the limits of an attempt.
    Long,
    /// The call failed. The slow path returns the error.
    Failed,
}

impl Limits {
    /// Returns the limits of an attempt. None exceeds that of `self`.
    pub(crate) fn of_attempt(&self) -> Self {
        Self {
            logs: self.logs.min(LOGS),
            log_time: self.log_time.min(TIME),
            call_time: self.call_time.min(TIME),
            ..*self
        }
    }
}

impl Context<'_> {
    /// Returns the block with this id.
    ///
    /// An attempt requires that the block is in memory and has at most [`TRANSACTIONS`] transactions.
    pub(crate) fn block(&self, view: &View, id: BlockId) -> Result<Arc<Executed>, Error> {
        if !self.is_attempt() {
            return Ok(view.resolve(id)?);
        }
        let found = view.at_hand(id)?.filter(|found| found.block.transactions.len() <= TRANSACTIONS);
        found.ok_or(Error::Long)
    }

    /// Returns the execution limits of a call that starts now.
    pub(crate) fn call_limits(&self) -> CallLimits {
        let limits = self.limits.call();
        if !self.is_attempt() {
            return limits;
        }
        CallLimits { deadline: Deadline::strict(limits.deadline.limit()), ..limits }
    }

    /// Returns the header and state of the block with this id. An attempt never executes a block again to
    /// obtain them.
    pub(crate) fn moment(&self, view: &View, id: BlockId) -> Result<Moment, Error> {
        if self.is_attempt() && !view.has_state(id)? { Err(Error::Long) } else { Ok(view.moment(id)?) }
    }
}
