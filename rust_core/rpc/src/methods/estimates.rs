//! Gas estimates.
//!
//! A client that has the receipt of a step estimates its next transaction right after it, without a block:
//! `latest` does not have the first one yet. Without a block the result is therefore the higher estimate of
//! `latest` and `pending`.

use foreseal_chain::{BlockId, ReadMode};
use foreseal_evm::{CallRequest, Environment, EstimateError, estimate};
use foreseal_state::{ComparedState, StateReader};

use super::{
    call_args::{CallArgs, call_object},
    calls::{OVERRIDES, STATE, TRANSACTION},
    method::Method,
};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::hex::write_quantity,
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const BLOCK: Argument =
    Argument::optional("block", Kind::Block).or("the higher estimate of latest and pending");

pub const METHODS: &[Method] =
    &[Method::fast_path("eth_estimateGas", &[TRANSACTION, BLOCK, STATE, OVERRIDES], estimate_gas)
        .in_heavy_lane()];

fn estimate_gas(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let request = call_object(context, params)?.into();
    let block: Option<BlockId> = params.optional()?;
    let args = CallArgs { block: block.unwrap_or(BlockId::Latest), ..CallArgs::new(request) };
    let args = args.with_state(params)?.with_block(params)?;
    let estimated =
        if block.is_some() { estimate_at(context, &args) } else { estimate_newest(context, &args) };
    let gas = estimated.map_err(|error| match error {
        Error::Estimate(EstimateError::Revert { output }) if context.reason_is_in_message() => {
            Error::DetailedEstimateRevert(output)
        }
        error => error,
    })?;
    let mut out = Vec::new();
    write_quantity(&mut out, gas);
    Ok(out)
}

/// Returns the estimate of a request that names no block; `args` has `latest`.
///
/// If only one of `latest` and `pending` accepts the request, it decides; if neither, the error is that of `latest`.
/// `pending` is not executed if `latest` accepts it, and the transactions of `pending` changed nothing that was read.
fn estimate_newest(context: &Context<'_>, args: &CallArgs) -> Result<u64, Error> {
    if context.mode != ReadMode::Standard {
        return estimate_at(context, args);
    }
    let view = context.view()?;
    let (latest, open) = (view.latest(), view.pending());
    let is_empty = open.block.transactions.is_empty() && open.written.is_empty();
    let compared = ComparedState::new(&latest.state, &open.state);
    let state: &dyn StateReader = if is_empty { &latest.state } else { &compared };
    let limits = context.call_limits();
    let run = |environment: &Environment<'_>, request: &CallRequest| estimate(environment, request, limits);
    let sealed = args.execute_on(view, &latest.block.header, state, run);
    let may_differ = match &sealed {
        Ok(_) => compared.differs(),
        // The base fee of `pending` may be lower. An estimate that took too long decides nothing.
        Err(error) => !error.is_too_slow_inline(),
    };
    if !may_differ {
        return sealed;
    }
    match (sealed, estimate_at(context, &CallArgs { block: BlockId::Pending, ..args.clone() })) {
        (Ok(sealed), Ok(pending)) => Ok(sealed.max(pending)),
        (_, Err(error)) if error.is_too_slow_inline() => Err(error),
        (Ok(gas), Err(_)) | (Err(_), Ok(gas)) => Ok(gas),
        (Err(error), Err(_)) => Err(error),
    }
}

/// Returns the estimate at the block of `args`.
pub fn estimate_at(context: &Context<'_>, args: &CallArgs) -> Result<u64, Error> {
    let limits = context.call_limits();
    args.execute(context, |environment, request| estimate(environment, request, limits))
}
