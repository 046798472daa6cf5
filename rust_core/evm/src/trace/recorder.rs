//! The inspector of a traced transaction: one part for each tracer.

use std::collections::BTreeMap;

use alloy_primitives::Log;
use foreseal_primitives::SpecId;
use revm::{
    context::TxEnv,
    context_interface::{
        context::ContextError,
        result::{EVMError, ExecutionResult},
    },
    inspector::Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter, interpreter_types::LoopControl,
    },
    state::EvmState,
};
use revm_inspectors::tracing::FourByteInspector;

use super::{
    call_tree::{CallFrame, CallRecorder, Outcome},
    options::{CallOptions, PrestateOptions, Tracer},
    prestate::PrestateRecorder,
    struct_log::{StructLogRecorder, StructLogSink},
    trace_result::Trace,
};
use crate::{
    context::{EvmContext, EvmError},
    evm_instance::EvmInstance,
    execution_state::ExecutionState,
    interruption::Interruption,
    optimism::{Surcharge, VAULTS},
    trace_limit::TraceLimit,
};

/// The recorder of one tracer.
enum TracerRecorder {
    StructLogs(Box<StructLogRecorder>),
    Calls(Box<CallRecorder>, CallOptions),
    Prestate(PrestateRecorder, PrestateOptions),
    FourByte(FourByteInspector),
    Noop,
    Mux(Vec<TracerRecorder>),
}

impl TracerRecorder {
    fn new(tracer: &Tracer, fork: SpecId) -> Self {
        match tracer {
            Tracer::StructLogs(options) => Self::StructLogs(Box::new(StructLogRecorder::new(*options, fork))),
            Tracer::Calls(options) => Self::Calls(Box::new(CallRecorder::new(*options)), *options),
            Tracer::Prestate(options) => Self::Prestate(PrestateRecorder::default(), *options),
            Tracer::FourByte => Self::FourByte(FourByteInspector::default()),
            Tracer::Noop => Self::Noop,
            Tracer::Mux(tracers) => Self::Mux(tracers.iter().map(|tracer| Self::new(tracer, fork)).collect()),
        }
    }

    /// Calls `act` on each part that records.
    fn each(&mut self, act: &mut impl FnMut(&mut Self)) {
        match self {
            Self::Mux(parts) => parts.iter_mut().for_each(|part| part.each(act)),
            Self::Noop => {}
            part => act(part),
        }
    }

    fn trace(
        self,
        result: &ExecutionResult,
        outcome: Outcome,
        after: &EvmState,
        cache: &mut ExecutionState<'_>,
    ) -> Result<Trace, Interruption> {
        Ok(match self {
            Self::StructLogs(_) => {
                let output = if result.is_halt() { None } else { result.output().cloned() };
                Trace::StructLogs {
                    gas: outcome.gas_used,
                    failed: !result.is_success(),
                    output: output.unwrap_or_default(),
                }
            }
            Self::Calls(recorder, options) => Trace::Calls(recorder.frames(options, outcome)),
            Self::Prestate(recorder, options) => Trace::Prestate(recorder.prestate(options, after, cache)?),
            Self::FourByte(inspector) => {
                let counts = inspector.inner().iter();
                let counts = counts.map(|((selector, rest), count)| ((selector.0, *rest), *count));
                Trace::FourByte(counts.collect::<BTreeMap<_, _>>())
            }
            Self::Noop => Trace::Noop,
            Self::Mux(parts) => {
                let trace = |tracer: Self| tracer.trace(result, outcome, after, cache);
                Trace::Mux(parts.into_iter().map(trace).collect::<Result<_, Interruption>>()?)
            }
        })
    }
}

/// Records one transaction at a time for a [`Tracer`].
pub(crate) struct Recorder<S> {
    part: TracerRecorder,
    pub sink: S,
    /// Maximum memory of recorded calls, in bytes.
    max_size: usize,
    exceeded: Option<TraceLimit>,
}

impl<S: StructLogSink> Recorder<S> {
    pub fn new(sink: S) -> Self {
        Self { part: TracerRecorder::Noop, sink, max_size: usize::MAX, exceeded: None }
    }

    /// Begins a transaction, of which at most `max_size` bytes are recorded.
    fn begin(&mut self, tracer: &Tracer, fork: SpecId, max_size: usize) {
        self.part = TracerRecorder::new(tracer, fork);
        self.max_size = max_size;
        self.exceeded = None;
    }

    /// Performs the lookups that every prestate contains.
    fn lookup(
        &mut self,
        mut run: impl FnMut(&mut PrestateRecorder) -> Result<(), Interruption>,
    ) -> Result<(), Interruption> {
        let mut result = Ok(());
        self.part.each(&mut |part| {
            if let TracerRecorder::Prestate(recorder, _) = part
                && result.is_ok()
            {
                result = run(recorder);
            }
        });
        result
    }

    /// Returns the trace. `after` holds the transaction's changes; the cache still holds the state before.
    fn end(
        &mut self,
        result: &ExecutionResult,
        outcome: Outcome,
        after: &EvmState,
        cache: &mut ExecutionState<'_>,
    ) -> Result<Trace, Interruption> {
        std::mem::replace(&mut self.part, TracerRecorder::Noop).trace(result, outcome, after, cache)
    }

    /// Ends the execution if a limit was exceeded.
    fn check(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'_>) {
        if let Some(limit) = self.exceeded
            && context.error.is_ok()
        {
            context.error = Err(ContextError::Db(Interruption::TraceLimit(limit)));
            // Replaces the call or the return that may be pending.
            interpreter.bytecode.action().take();
            interpreter.bytecode.reset_action();
            interpreter.halt_fatal();
        }
    }

    fn measure(&mut self) {
        let mut size = 0_usize;
        self.part.each(&mut |part| {
            if let TracerRecorder::Calls(recorder, _) = part {
                size = size.saturating_add(recorder.size());
            }
        });
        if size > self.max_size {
            self.exceeded = Some(TraceLimit { max: self.max_size });
        }
    }
}

/// Recording options of one transaction.
#[derive(Clone, Copy)]
pub(crate) struct Recording<'a> {
    pub tracer: &'a Tracer,
    /// Maximum memory of recorded calls, in bytes.
    pub max_size: usize,
    /// Index in the block of the transaction's first log.
    pub first_log_index: u64,
}

/// A recorded transaction. The cache still holds the state before it.
pub(crate) struct RecordedTransaction {
    pub trace: Trace,
    pub result: ExecutionResult,
    pub changes: EvmState,
}

impl<S: StructLogSink> EvmInstance<'_, Recorder<S>> {
    /// Runs a transaction and returns its trace.
    pub fn trace(
        &mut self,
        transaction: TxEnv,
        recording: Recording<'_>,
    ) -> Result<RecordedTransaction, EvmError> {
        let Recording { tracer, max_size, first_log_index } = recording;
        let (fork, beneficiary, gas_limit) = (self.fork(), self.beneficiary(), transaction.gas_limit);
        let (recorder, cache) = self.inspector();
        recorder.begin(tracer, fork, max_size);
        let lookup = recorder.lookup(|prestate| prestate.begin(&transaction, beneficiary, fork, cache));
        lookup.map_err(EVMError::Database)?;
        let unexecuted = match self.surcharge() {
            Some(Surcharge::Fees { .. }) => {
                self.look_up_vaults();
                None
            }
            Some(Surcharge::Deposit { .. }) => Some(CallFrame::unexecuted(&transaction)),
            None => None,
        };
        let (result, changes) = self.inspect(transaction)?;
        let outcome = Outcome { gas_limit, gas_used: result.tx_gas_used(), first_log_index };
        let (recorder, cache) = self.inspector();
        let mut trace = recorder.end(&result, outcome, &changes, cache).map_err(EVMError::Database)?;
        if let Some(frame) = unexecuted {
            trace.add_unexecuted(&frame);
        }
        Ok(RecordedTransaction { trace, result, changes })
    }

    /// Includes the vaults of an OP chain in a prestate, as the transaction pays them.
    fn look_up_vaults(&mut self) {
        self.inspector().0.part.each(&mut |part| {
            if let TracerRecorder::Prestate(recorder, _) = part {
                for vault in VAULTS {
                    recorder.lookup(vault);
                }
            }
        });
    }
}

/// Calls a hook of each part that has an inspector.
macro_rules! forward {
    ($self:ident, $inspector:ident => $call:expr) => {
        $self.part.each(&mut |part| match part {
            TracerRecorder::StructLogs($inspector) => {
                $call;
            }
            TracerRecorder::Calls($inspector, _) => {
                $call;
            }
            TracerRecorder::Prestate($inspector, _) => {
                $call;
            }
            TracerRecorder::FourByte($inspector) => {
                $call;
            }
            TracerRecorder::Noop | TracerRecorder::Mux(_) => {}
        })
    };
}

impl<'a, S: StructLogSink> Inspector<EvmContext<'a>> for Recorder<S> {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        forward!(self, inspector => inspector.initialize_interp(interpreter, context));
    }

    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        forward!(self, inspector => inspector.step(interpreter, context));
        self.check(interpreter, context);
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        forward!(self, inspector => inspector.step_end(interpreter, context));
        if let TracerRecorder::StructLogs(recorder) = &mut self.part
            && self.exceeded.is_none()
            && let Err(limit) = recorder.end(interpreter, &mut self.sink)
        {
            self.exceeded = Some(limit);
        }
        self.check(interpreter, context);
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        forward!(self, inspector => inspector.log(context, log.clone()));
        self.measure();
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        forward!(self, inspector => inspector.call(context, inputs));
        self.measure();
        None
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        forward!(self, inspector => inspector.call_end(context, inputs, outcome));
        self.measure();
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        forward!(self, inspector => inspector.create(context, inputs));
        self.measure();
        None
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        forward!(self, inspector => inspector.create_end(context, inputs, outcome));
        self.measure();
    }
}
