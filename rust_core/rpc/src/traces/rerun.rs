//! Re-execution of a block, transaction by transaction.

use std::time::Duration;

use foreseal_chain::{BlockId, ExecutedBlock, HeaderAndState, View};
use foreseal_evm::{Deadline, TransactionReplay};
use foreseal_primitives::StateDiff;

use crate::{
    Context, Error,
    errors::TraceError,
    json::{TracePosition, TraceWriter},
    params::NamedTracer,
};

/// Transactions of a block in order, with the state that development methods wrote between them.
pub struct Rerun<'a> {
    block: &'a ExecutedBlock,
    replay: TransactionReplay<'a, TraceWriter>,
    /// Number of executed transactions of the block.
    done: usize,
    /// Number of applied entries of [`ExecutedBlock::written`].
    written: usize,
}

impl<'a> Rerun<'a> {
    /// Starts before the first transaction of `block`, on the state of its parent.
    pub fn begin(
        context: &Context<'_>,
        view: &'a View,
        parent: &'a HeaderAndState,
        block: &'a ExecutedBlock,
        deadline: Deadline,
    ) -> Result<Self, Error> {
        let writer = TraceWriter::new(context.limits.trace_bytes);
        let mut replay =
            TransactionReplay::new(view.spec(), parent.state(), view, &block.block.header, writer)?;
        replay.set_deadline(deadline);
        Ok(Self { block, replay, done: 0, written: 0 })
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
        self.write()?;
        while self.done < index
            && let Some(transaction) = self.block.block.transactions.get(self.done)
        {
            self.replay.skip(transaction)?;
            self.done += 1;
            self.write()?;
        }
        Ok(())
    }

    /// Traces the next transaction, if there is one.
    pub fn trace(&mut self, tracer: &NamedTracer) -> Result<(), Error> {
        self.write()?;
        let block = &self.block.block;
        let Some(transaction) = block.transactions.get(self.done) else { return Ok(()) };
        let place = TracePosition {
            block_hash: Some(block.hash),
            block_number: block.header.number,
            hash: Some(transaction.hash()),
            index: self.done as u64,
        };
        self.replay.sink().open(tracer);
        let most = self.replay.sink().left();
        let trace = self.replay.trace(transaction, &tracer.tracer(), most)?;
        self.replay.sink().write(tracer, &trace, place)?;
        self.done += 1;
        Ok(())
    }

    /// Applies the state that was written before the next transaction.
    fn write(&mut self) -> Result<(), Error> {
        while let Some(written) = self.block.written.get(self.written)
            && written.transactions <= self.done
        {
            self.replay.write(&written.diff)?;
            self.written += 1;
        }
        Ok(())
    }
}

/// Returns the header and state of a block's parent.
pub fn parent(view: &View, found: &ExecutedBlock) -> Result<HeaderAndState, Error> {
    let before = found.number().checked_sub(1).ok_or(TraceError::Genesis)?;
    Ok(view.header_and_state(BlockId::Number(before))?)
}

/// Returns the deadline of a trace that starts now: the requested timeout, up to the limit.
pub fn deadline(context: &Context<'_>, timeout: Option<Duration>) -> Deadline {
    let limit = context.limits.call_time;
    Deadline::after(timeout.map_or(limit, |timeout| timeout.min(limit)))
}
