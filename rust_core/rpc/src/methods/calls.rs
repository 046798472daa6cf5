//! Calls and access lists: execution without side effects.

use foreseal_evm::{CallOutcome, HaltReason, call, create_access_list, halt_message};

use super::{call_args::CallArgs, method::Method};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        answer_size::{SizeBounds, data_size},
        hex::write_data,
        object::Object,
        transaction::write_access_list,
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

pub(crate) const TRANSACTION: Argument = Argument::required("transaction", Kind::Call);
const BLOCK: Argument = Argument::block("block");
pub(crate) const STATE: Argument = Argument::optional("stateOverrides", Kind::StateOverrides).or("none");
pub(crate) const OVERRIDES: Argument = Argument::optional("blockOverrides", Kind::BlockOverrides).or("none");

pub const METHODS: &[Method] = &[
    Method::fast_path("eth_call", &[TRANSACTION, BLOCK, STATE, OVERRIDES], eth_call).in_heavy_lane(),
    Method::worker_pool("eth_createAccessList", &[TRANSACTION, BLOCK, STATE], access_list),
];

fn eth_call(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let args = CallArgs::read(context, params)?.with_state(params)?.with_block(params)?;
    let limits = context.call_limits();
    match args.execute(context, |environment, request| call(environment, request, limits))? {
        CallOutcome::Success { output, .. } => {
            let size = SizeBounds::exact(data_size(output.len()));
            // The execution was not free: it is not repeated in each attempt.
            context.check_size(size, false).map_err(|error| match error {
                Error::TooLargeInline => Error::TooSlowInline,
                error => error,
            })?;
            let mut out = Vec::with_capacity(data_size(output.len()));
            write_data(&mut out, &output);
            Ok(out)
        }
        CallOutcome::Revert { output, .. } if context.reason_is_in_message() => {
            Err(Error::DetailedRevert(output))
        }
        CallOutcome::Revert { output, .. } => Err(Error::CallReverted(output)),
        CallOutcome::Halt { reason: HaltReason::OutOfGas(_), .. }
            if args.request.gas.is_none_or(|gas| gas > limits.gas) =>
        {
            Err(Error::CallGas { max: limits.gas })
        }
        CallOutcome::Halt { reason, .. } => Err(Error::CallHalted(reason)),
    }
}

/// Returns the access list, also for a call that fails; the result then has the reason in `error`.
fn access_list(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let args = CallArgs::read(context, params)?.with_state(params)?;
    let limits = context.limits.call();
    let created =
        args.execute(context, |environment, request| create_access_list(environment, request, limits))?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    write_access_list(object.name("accessList"), &created.access_list);
    match &created.outcome {
        CallOutcome::Success { .. } => {}
        CallOutcome::Revert { .. } => {
            object.text("error", "execution reverted");
        }
        CallOutcome::Halt { reason, .. } => {
            object.text("error", &halt_message(reason));
        }
    }
    object.quantity("gasUsed", created.outcome.gas_used()).close();
    Ok(out)
}
