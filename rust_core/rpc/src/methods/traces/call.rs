//! `debug_traceCall`: traces a call that is not on the chain.

use alloy_primitives::B256;
use foreseal_evm::{CallLimits, CallRequest, Environment, StateOverlay};

use super::trace_replay::{TraceReplay, deadline, parent};
use crate::{
    context::call_context::Context,
    errors::error::{Error, TraceError},
    json::{call_frame::TracePosition, trace::TraceWriter},
    methods::call_args::CallArgs,
    params::{positional::Params, trace::TraceCallConfig},
};

/// Traces a call after the given block, like its last transaction; with `txIndex`, before the transaction at
/// that index.
pub fn trace_call(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let args = CallArgs::read(context, params)?;
    let config: TraceCallConfig = params.optional()?.unwrap_or_default();
    let args = CallArgs { state: config.state, overrides: config.block, ..args };
    let tracer = &config.trace.tracer;
    let deadline = deadline(context, config.trace.timeout);
    let limits = CallLimits { gas: context.limits.call_gas, deadline };
    let mut writer = TraceWriter::new(context.limits.trace());
    writer.open(tracer);
    let run = |environment: &Environment<'_>, request: &CallRequest| {
        let max_size = writer.left();
        foreseal_evm::trace_call(environment, request, limits, &tracer.tracer(), (max_size, &mut writer))
    };
    let trace = match config.index {
        None => args.execute(context, run)?,
        Some(index) => {
            let view = context.view()?;
            let executed = view.resolve(args.block)?;
            let index = transaction_index(index, executed.block.transactions.len(), executed.block.hash)?;
            let parent = parent(view, &executed)?;
            let mut rerun = TraceReplay::begin(context, view, &parent, &executed, deadline)?;
            rerun.advance(index)?;
            let before = rerun.drain_diff();
            let state = StateOverlay::new(parent.state(), &before);
            args.execute_on(view, &executed.block.header, &state, run)?
        }
    };
    writer.write(tracer, &trace, TracePosition::default())?;
    Ok(writer.out)
}

/// Validates the index. A block without transactions accepts index 0, as in geth.
fn transaction_index(index: u64, transactions: usize, block: B256) -> Result<usize, TraceError> {
    let last = transactions.saturating_sub(1);
    usize::try_from(index).ok().filter(|index| *index <= last).ok_or(TraceError::Index { index, block })
}
