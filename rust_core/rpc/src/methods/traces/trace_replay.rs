//! Re-execution of a block, transaction by transaction.

use std::time::Duration;

use foreseal_chain::{BlockId, ExecutedBlock, HeaderAndState, View};
use foreseal_evm::{Deadline, TransactionReplay};
use foreseal_primitives::StateDiff;

use crate::{
    context::call_context::Context,
    errors::error::{Error, TraceError},
    json::{call_frame::TracePosition, trace::TraceWriter},
    params::trace::NamedTracer,
};

/// Transactions of a block in order, with the state that development methods wrote between them.
pub struct TraceReplay<'a> {
    block: &'a ExecutedBlock,
    replay: TransactionReplay<'a, TraceWriter>,
    /// Number of executed transactions of the block.
    executed: usize,
    /// Number of applied entries of [`ExecutedBlock::written`].
    applied_writes: usize,
}

impl<'a> TraceReplay<'a> {
    /// Starts before the first transaction of `block`, on the state of its parent.
    pub fn begin(
        context: &Context<'_>,
        view: &'a View,
        parent: &'a HeaderAndState,
        block: &'a ExecutedBlock,
        deadline: Deadline,
    ) -> Result<Self, Error> {
        let writer = TraceWriter::new(context.limits.trace());
        let mut replay =
            TransactionReplay::new(view.spec(), parent.state(), view, &block.block.header, writer)?;
        replay.set_deadline(deadline);
        Ok(Self { block, replay, executed: 0, applied_writes: 0 })
    }

    /// Returns the output buffer of the traces.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.replay.sink().out
    }

    /// Takes the traces out of the buffer.
    pub fn drain_output(&mut self) -> Vec<u8> {
        std::mem::take(self.out())
    }

    /// Takes the state changes of the block so far; a second call does not return them again.
    pub fn drain_diff(&mut self) -> StateDiff {
        self.replay.drain_diff()
    }

    /// Executes the transactions before `index`, without traces.
    pub fn advance(&mut self, index: usize) -> Result<(), Error> {
        self.apply_writes()?;
        while self.executed < index
            && let Some(transaction) = self.block.block.transactions.get(self.executed)
        {
            self.replay.skip(transaction)?;
            self.executed += 1;
            self.apply_writes()?;
        }
        Ok(())
    }

    /// Traces the next transaction, if there is one.
    pub fn trace(&mut self, tracer: &NamedTracer) -> Result<(), Error> {
        self.apply_writes()?;
        let block = &self.block.block;
        let Some(transaction) = block.transactions.get(self.executed) else { return Ok(()) };
        let position = TracePosition {
            block_hash: Some(block.hash),
            block_number: block.header.number,
            hash: Some(transaction.hash()),
            index: self.executed as u64,
        };
        self.replay.sink().open(tracer);
        let max_size = self.replay.sink().left();
        let trace = self.replay.trace(transaction, &tracer.tracer(), max_size)?;
        self.replay.sink().write(tracer, &trace, position)?;
        self.executed += 1;
        Ok(())
    }

    /// Applies the state that was written before the next transaction.
    fn apply_writes(&mut self) -> Result<(), Error> {
        while let Some(written) = self.block.written.get(self.applied_writes)
            && written.transactions <= self.executed
        {
            self.replay.write(&written.diff)?;
            self.applied_writes += 1;
        }
        Ok(())
    }
}

/// Returns the header and state of a block's parent.
pub fn parent(view: &View, executed: &ExecutedBlock) -> Result<HeaderAndState, Error> {
    let before = executed.number().checked_sub(1).ok_or(TraceError::Genesis)?;
    Ok(view.header_and_state(BlockId::Number(before))?)
}

/// Returns the deadline of a trace that starts now: the requested timeout, up to the limit.
pub fn deadline(context: &Context<'_>, timeout: Option<Duration>) -> Deadline {
    let limit = context.limits.call_time;
    Deadline::after(timeout.map_or(limit, |timeout| timeout.min(limit)))
}
