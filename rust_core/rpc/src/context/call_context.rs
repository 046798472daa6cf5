//! Resources that a call may use, and its limits.

use std::{cell::Cell, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::{BlockCounts, BlockId, ExecutedBlock, HeaderAndState, ReadMode, View};
use foreseal_evm::{CallLimits, Deadline};
use foreseal_node::{Node, RevertReasonField};
use foreseal_primitives::{Block, Transaction};

use super::{keys::Development, limits::Limits};
use crate::{
    errors::error::{Error, ResponseSize},
    json::{
        answer_size::{MIN_LOG, SizeBounds, min_block_size, min_receipts_size},
        json_caches::JsonCaches,
        large_answers::Reservation,
    },
    streams::filters::backend::FilterBackend,
};

/// Maximum size in bytes of a result that is rendered or copied on the receiving thread. The dispatcher checks lower
/// limits, also of a batch.
pub const MAX_ATTEMPT_BYTES: usize = 256 << 10;

/// Resources that a method may access.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) node: &'a Node,
    /// View of the request, in the mode that [`mode_of_view`] returns.
    pub(crate) view: Option<&'a Arc<View>>,
    /// Mode of the endpoint for the method.
    pub(crate) mode: ReadMode,
    pub(crate) limits: &'a Limits,
    pub(crate) filters: &'a FilterBackend,
    pub(crate) caches: &'a JsonCaches,
    pub(crate) development: &'a Development,
    /// `true` if the call arrived on the admin listener.
    pub(crate) admin: bool,
    /// `true` if the call is an attempt on the receiving thread: see [`Api::attempt`].
    pub(crate) attempt: bool,
    pub(crate) progress: &'a AnswerProgress,
}

/// State of the result of one call.
#[derive(Default)]
pub struct AnswerProgress {
    /// Part of the budget of large results that the result holds.
    pub reservation: Cell<Option<Reservation>>,
    /// `true` if `foreseal_getLogs` returns the content of the result in pages.
    pub has_logs: Cell<bool>,
}

impl<'a> Context<'a> {
    /// Returns `true` if the call is an attempt on the receiving thread, within tight limits.
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
        self.view_in(self.mode)
    }

    /// Returns the newest view in `mode`: a filter keeps the mode in which it was created.
    pub(crate) fn view_in(&self, mode: ReadMode) -> Result<Arc<View>, Error> {
        let view = self.node.view().ok_or(Error::Starting)?;
        Ok(view.in_mode(mode_of_view(self.node, &view, mode)))
    }

    /// Returns the block with this id.
    ///
    /// An attempt requires that the block is in memory.
    pub(crate) fn block(&self, view: &View, id: BlockId) -> Result<Arc<ExecutedBlock>, Error> {
        if !self.is_attempt() {
            return Ok(view.resolve(id)?);
        }
        view.cached_block(id)?.ok_or(Error::TooSlowInline)
    }

    /// Rejects a result of at least `size` bytes that exceeds the caller's limit. The block that it comes from need
    /// not be read.
    pub(crate) fn check_min_size(&self, size: usize, has_logs: bool) -> Result<(), Error> {
        let max = self.limits.response;
        if size > max.max(MAX_ATTEMPT_BYTES) {
            return Err(ResponseSize { max, has_logs }.into());
        }
        if self.is_attempt() && size > MAX_ATTEMPT_BYTES { Err(Error::TooLargeInline) } else { Ok(()) }
    }

    /// Checks the size of a result before it is rendered. Reserves room for a large one.
    ///
    /// # Errors
    ///
    /// Returns an error if the size exceeds the caller's limit, or too many large results are in progress. An attempt
    /// renders no large result.
    pub(crate) fn check_size(&self, size: SizeBounds, has_logs: bool) -> Result<(), Error> {
        self.check_min_size(size.min, has_logs)?;
        if self.is_attempt() && size.max > MAX_ATTEMPT_BYTES {
            return Err(Error::TooLargeInline);
        }
        self.progress.has_logs.set(has_logs);
        let bytes = size.max.min(self.limits.response);
        if let Some(reservation) = self.caches.large_answers.reserve(bytes)? {
            self.progress.reservation.set(Some(reservation));
        }
        Ok(())
    }

    /// Checks the size of a receipt before it is rendered: first by the number of its logs, then by their content.
    pub(crate) fn check_receipt_size(&self, block: &Block, index: usize) -> Result<(), Error> {
        let Some(receipt) = block.receipts.get(index) else { return Ok(()) };
        self.check_min_size(MIN_LOG.saturating_mul(receipt.logs.len()), true)?;
        self.check_size(SizeBounds::receipt(receipt), true)
    }

    /// Checks the size of a transaction before it is rendered.
    pub(crate) fn check_transaction_size(&self, transaction: &Transaction) -> Result<(), Error> {
        self.check_size(SizeBounds::transaction(transaction), false)
    }

    /// Lets an attempt read the block of a transaction only if it is in memory, or small.
    pub(crate) fn check_inline_read(&self, view: &View, hash: &B256) -> Result<(), Error> {
        if !self.is_attempt() {
            return Ok(());
        }
        let Some(position) = view.transaction_position(hash)? else { return Ok(()) };
        if view.is_in_memory(position.number) {
            return Ok(());
        }
        let counts = view.counts_at(position.number)?;
        let size =
            |counts: BlockCounts| min_block_size(&counts, true).saturating_add(min_receipts_size(&counts));
        if counts.is_some_and(|counts| size(counts) > MAX_ATTEMPT_BYTES) {
            return Err(Error::TooLargeInline);
        }
        Ok(())
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

/// Returns the mode in which an endpoint with `mode` reads `view`.
///
/// Under automine, a block is sealed with its first transaction, so the block that follows has no step but its first,
/// empty one. It is not `latest` at `/preconfirmed` either: libraries compare the number of `latest` with that of the
/// block that they just mined. Steps that were visible before automine began stay visible.
pub(crate) fn mode_of_view(node: &Node, view: &View, mode: ReadMode) -> ReadMode {
    let is_sealed = || node.is_automine() && view.pending().steps.len() <= 1;
    if mode == ReadMode::Preconfirmed && is_sealed() { ReadMode::Standard } else { mode }
}
