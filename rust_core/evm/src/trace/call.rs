//! A request traced without consequence.

use super::{
    StepSink, Trace, Tracer,
    recorder::{Recorder, Recording},
};
use crate::{
    call::{CallLimits, CallRequest, Simulation},
    environment::Environment,
    error::ExecutionError,
};

/// Executes `request` in its environment, as [`crate::call()`] does, and gives its trace.
///
/// # Errors
/// As [`crate::call()`]; [`ExecutionError::TraceLimit`] if calls take more than about `most` bytes in memory, or the sink
/// refuses a step.
pub fn trace_call<S: StepSink>(
    environment: &Environment<'_>,
    request: &CallRequest,
    limits: CallLimits,
    tracer: &Tracer,
    (most, sink): (usize, &mut S),
) -> Result<Trace, ExecutionError> {
    let mut simulation = Simulation::with_inspector(environment, request, Recorder::new(sink))?;
    simulation.keep(limits.deadline);
    let recording = Recording { tracer, most, first_log_index: 0 };
    let run = simulation
        .bounded(limits.gas_of(request), |machine, transaction| machine.trace(transaction, recording));
    Ok(run?.trace)
}
