//! Logs of a step, which may be in the store only.

use std::{borrow::Cow, ops::ControlFlow, sync::Arc};

use alloy_primitives::Log;
use foreseal_primitives::{LogFilter, log_json_size};
use foreseal_state::StateError;

use super::changes::{FeedError, cursor_gone, step_at};
use crate::{
    block_at_step::{BlockAtStep, Steps},
    history::History,
    step_cursor::StepCursor,
    view::View,
};

/// Largest number of logs that are read at a time.
const PORTION: u64 = 256;

/// Location of the logs of a step.
#[derive(Clone, Debug)]
pub enum StepLogs {
    /// In the receipts of its block.
    InReceipts,
    /// In the store. The receipts of its block have none.
    Stored(StoredLogs),
}

/// Stored logs of a block.
#[derive(Clone, Debug)]
pub struct StoredLogs {
    history: Arc<dyn History>,
    /// Number of logs of each receipt.
    counts: Vec<u64>,
    /// Ordinal of the block's first log.
    first: u64,
}

impl StepLogs {
    /// Returns the number of logs of the transaction at index `at` of the block.
    pub fn count(&self, step: &BlockAtStep, at: usize) -> usize {
        match self {
            Self::InReceipts => step.block.receipts.get(at).map_or(0, |receipt| receipt.logs.len()),
            Self::Stored(stored) => stored.count(at),
        }
    }

    /// Returns logs of the transaction at index `at`, from number `from` on: as many as reach `size` bytes of JSON, at
    /// least one if there is one.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn read<'s>(
        &self,
        step: &'s BlockAtStep,
        at: usize,
        from: usize,
        size: usize,
    ) -> Result<Cow<'s, [Log]>, StateError> {
        let Some(receipt) = step.block.receipts.get(at) else { return Ok(Cow::default()) };
        let mut total = 0;
        let mut reaches_size = |log: &Log| {
            total += log_json_size(log);
            total >= size
        };
        match self {
            Self::InReceipts => {
                let rest = receipt.logs.get(from..).unwrap_or_default();
                let last = rest.iter().position(reaches_size);
                Ok(Cow::Borrowed(last.map_or(rest, |last| &rest[..=last])))
            }
            Self::Stored(stored) => {
                let mut logs = Vec::new();
                let first = stored.first.saturating_add(receipt.first_log_index);
                let mut next = first.saturating_add(from as u64);
                let end = first.saturating_add(stored.count(at) as u64);
                let mut is_full = false;
                while next < end && !is_full {
                    let portion: Vec<u64> = (next..end.min(next.saturating_add(PORTION))).collect();
                    next += portion.len() as u64;
                    stored.history.read_logs(&LogFilter::default(), &portion, &mut |_, entry| {
                        logs.push(entry.log.clone());
                        is_full = reaches_size(entry.log);
                        if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    })?;
                }
                Ok(Cow::Owned(logs))
            }
        }
    }
}

impl StoredLogs {
    fn count(&self, at: usize) -> usize {
        self.counts.get(at).map_or(0, |count| usize::try_from(*count).unwrap_or(usize::MAX))
    }
}

/// Returns the step at `cursor`, which must be on the chain, like [`step_at`]. Logs of a block that is not in memory
/// stay in the store: a reader of a part of the step needs a few of them.
///
/// # Errors
/// Returns the errors of [`step_at`].
pub fn step_with_logs(view: &View, cursor: StepCursor) -> Result<(BlockAtStep, StepLogs), FeedError> {
    let Some(history) = view.sealed.history_of(cursor.number) else {
        return Ok((step_at(view, cursor)?, StepLogs::InReceipts));
    };
    let stored = history.block_without_logs(cursor.number)?;
    let Some((stored, table)) = stored.zip(history.steps(cursor.number)?) else {
        return Err(cursor_gone(view)?);
    };
    let steps = Steps::new(&stored.block, &table);
    match usize::try_from(cursor.index) {
        Ok(index) if steps.holds(cursor) => {
            let logs =
                StoredLogs { history: history.clone(), counts: stored.log_counts, first: stored.first_log };
            Ok((steps.at(index), StepLogs::Stored(logs)))
        }
        _ => Err(cursor_gone(view)?),
    }
}
