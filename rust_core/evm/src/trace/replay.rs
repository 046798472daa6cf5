//! Re-execution of a block in which some transactions are traced.

use alloy_consensus::Header;
use foreseal_primitives::{ChainSpec, StateDiff, Transaction};
use foreseal_state::{BlockHashes, StateReader};

use super::{
    options::Tracer,
    recorder::{Recorder, Recording},
    struct_log::StructLogSink,
    trace_result::Trace,
};
use crate::{
    deadline::Deadline,
    error::ExecutionError,
    executor::{BlockGas, Executor, receipt},
};

/// The transactions of one block, executed again in order on the state before it.
pub struct TransactionReplay<'a, S> {
    executor: Executor<'a, Recorder<S>>,
    block: BlockGas,
}

impl<'a, S: StructLogSink> TransactionReplay<'a, S> {
    /// Begins the block of `header` on the state of its parent and runs the processing before the first
    /// transaction.
    pub fn new(
        spec: &ChainSpec,
        parent: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        header: &Header,
        sink: S,
    ) -> Result<Self, ExecutionError> {
        let recorder = Recorder::new(sink);
        let mut executor = Executor::with_inspector(spec, parent, hashes, header, recorder);
        executor.begin_block(header.parent_hash, header.parent_beacon_block_root)?;
        Ok(Self { executor, block: BlockGas::default() })
    }

    /// Ends every later execution with [`ExecutionError::TimeLimit`] once the deadline has passed.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.executor.machine.set_deadline(deadline);
    }

    /// Returns the sink of the steps.
    pub fn sink(&mut self) -> &mut S {
        &mut self.executor.machine.inspector().0.sink
    }

    /// Applies state changes that were made between two transactions.
    pub fn write(&mut self, diff: &StateDiff) -> Result<(), ExecutionError> {
        Ok(self.executor.execution_state().write(diff)?)
    }

    /// Returns the changes of the block since the last call, including the beginning of the block.
    pub fn drain_diff(&mut self) -> StateDiff {
        self.executor.drain_diff()
    }

    /// Executes the next transaction without a trace.
    pub fn skip(&mut self, transaction: &Transaction) -> Result<(), ExecutionError> {
        self.executor.transact(transaction, &mut self.block)?;
        Ok(())
    }

    /// Executes the next transaction and returns its trace.
    ///
    /// # Errors
    /// [`ExecutionError::TraceLimit`] if calls need more than about `max_size` bytes of memory, or the sink
    /// rejects a step. The replay has then ended.
    pub fn trace(
        &mut self,
        transaction: &Transaction,
        tracer: &Tracer,
        max_size: usize,
    ) -> Result<Trace, ExecutionError> {
        let admitted = self.executor.admit(transaction, &self.block)?;
        let fees = self.executor.fees(transaction);
        let evm = &mut self.executor.machine;
        evm.set_disable_eip3607(transaction.is_impersonated());
        let recording = Recording { tracer, max_size, first_log_index: self.block.log_count };
        evm.set_surcharge(admitted.surcharge);
        let environment = admitted.environment(transaction);
        let mut traced = evm.trace(environment, recording).map_err(|error| fees.error(error))?;
        evm.execution_state().commit_all(traced.changes.drain());
        receipt(transaction, traced.result, &admitted, &mut self.block);
        Ok(traced.trace)
    }
}
