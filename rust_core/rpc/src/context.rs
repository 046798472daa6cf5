//! Resources that a call may use, and its limits.

use std::sync::Arc;

use foreseal_chain::{BlockId, ExecutedBlock, HeaderAndState, View};
use foreseal_evm::{CallLimits, Deadline};
use foreseal_node::{Node, RevertReasonField};

use crate::{Development, Error, Limits, filters::FilterBackend, json_caches::JsonCaches};

/// Maximum number of transactions in the block of a request that is an attempt on the fast path.
const MAX_ATTEMPT_TRANSACTIONS: usize = 256;

/// Resources that a method may access.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) node: &'a Node,
    pub(crate) view: Option<&'a Arc<View>>,
    pub(crate) limits: &'a Limits,
    pub(crate) filters: &'a FilterBackend,
    pub(crate) caches: &'a JsonCaches,
    pub(crate) development: &'a Development,
    /// `true` if the call arrived on the admin listener.
    pub(crate) admin: bool,
    /// `true` if the call is an attempt on the fast path: see [`Api::attempt`].
    pub(crate) attempt: bool,
}

impl<'a> Context<'a> {
    /// Returns `true` if the call is an attempt on the fast path, within tight limits.
    pub(crate) fn is_attempt(&self) -> bool {
        self.attempt
    }

    /// Returns the view of the request.
    pub(crate) fn view(&self) -> Result<&'a Arc<View>, Error> {
        self.view.ok_or(Error::Starting)
    }

    /// Returns `true` if messages of reverted calls and estimates have the reason: only on development chains.
    pub(crate) fn reason_is_in_message(&self) -> bool {
        let development = self.node.settings().development;
        development.is_some_and(|development| development.revert_reason == RevertReasonField::Message)
    }

    /// Returns the newest view, for methods that read the pool. They read the pool first, so that a
    /// transaction that moves from the pool to the chain in between is found in the view.
    pub(crate) fn newest_view(&self) -> Result<Arc<View>, Error> {
        self.node.view().ok_or(Error::Starting)
    }

    /// Returns the block with this id.
    ///
    /// An attempt requires that the block is in memory and has at most [`MAX_ATTEMPT_TRANSACTIONS`] transactions.
    pub(crate) fn block(&self, view: &View, id: BlockId) -> Result<Arc<ExecutedBlock>, Error> {
        if !self.is_attempt() {
            return Ok(view.resolve(id)?);
        }
        let found =
            view.cached_block(id)?.filter(|found| found.block.transactions.len() <= MAX_ATTEMPT_TRANSACTIONS);
        found.ok_or(Error::TooSlowInline)
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
    pub(crate) fn header_and_state(&self, view: &View, id: BlockId) -> Result<HeaderAndState, Error> {
        if self.is_attempt() && !view.has_state(id)? {
            Err(Error::TooSlowInline)
        } else {
            Ok(view.header_and_state(id)?)
        }
    }
}
