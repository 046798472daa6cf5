//! Trace of a request without state changes.

use super::{
    options::Tracer,
    recorder::{Recorder, Recording},
    struct_log::StructLogSink,
    trace_result::Trace,
};
use crate::{
    call::{CallLimits, CallRequest, Simulation},
    environment::Environment,
    error::ExecutionError,
};

/// Executes `request` in its environment, as [`crate::call()`] does, and returns its trace.
///
/// # Errors
/// Returns the errors of [`crate::call()`], and [`ExecutionError::TraceLimit`] if calls need more than about
/// `max_size` bytes of memory or the sink rejects a step.
pub fn trace_call<S: StructLogSink>(
    environment: &Environment<'_>,
    request: &CallRequest,
    limits: CallLimits,
    tracer: &Tracer,
    (max_size, sink): (usize, &mut S),
) -> Result<Trace, ExecutionError> {
    let mut simulation = Simulation::with_inspector(environment, request, Recorder::new(sink))?;
    simulation.set_deadline(limits.deadline);
    let recording = Recording { tracer, max_size, first_log_index: 0 };
    let run = simulation
        .bounded(limits.gas_or_max(request), |machine, transaction| machine.trace(transaction, recording));
    Ok(run?.trace)
}
