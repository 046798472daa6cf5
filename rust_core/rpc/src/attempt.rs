//! The tight limits of an attempt: what a call may take that is tried on the thread that received it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use foreseal_evm::{CallLimits, Deadline};
use foreseal_node::{BlockId, Executed, Moment, View};

use crate::{Context, Error, Limits};

/// Time for an execution or a search.
const TIME: Duration = Duration::from_micros(200);
/// Logs of an answer.
const LOGS: u64 = 512;
/// Transactions of a block that is answered about.
const TRANSACTIONS: usize = 256;
/// Bytes of parameters.
pub const PARAMS: usize = 16 * 1024;

/// How a call went that was tried in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The answer, JSON: the very one that any other way gives.
    Answered(Bytes),
    /// It came to the limits of an attempt, or would have.
    Long,
    /// It is wrong in some way; who asks in the general way is told.
    Failed,
}

impl Limits {
    /// Those of an attempt: none is wider than here.
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
    /// The block that `id` names. In an attempt it must be in memory, and of no more than so many transactions.
    pub(crate) fn block(&self, view: &View, id: BlockId) -> Result<Arc<Executed>, Error> {
        if !self.is_attempt() {
            return Ok(view.resolve(id)?);
        }
        let found = view.at_hand(id)?.filter(|found| found.block.transactions.len() <= TRANSACTIONS);
        found.ok_or(Error::Long)
    }

    /// Those of a call that begins now.
    pub(crate) fn call_limits(&self) -> CallLimits {
        let limits = self.limits.call();
        if !self.is_attempt() {
            return limits;
        }
        CallLimits { deadline: Deadline::strict(limits.deadline.limit()), ..limits }
    }

    /// Header and state of the block that `id` names. In an attempt nothing is executed to have them.
    pub(crate) fn moment(&self, view: &View, id: BlockId) -> Result<Moment, Error> {
        if self.is_attempt() && !view.has_state(id)? { Err(Error::Long) } else { Ok(view.moment(id)?) }
    }
}
