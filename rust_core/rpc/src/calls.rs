//! Calls and estimates: execution that changes nothing.

use foreseal_evm::{CallOutcome, CallRequest, call, estimate};
use foreseal_node::BlockId;

use crate::{
    Argument, Context, Error, Kind, Method,
    json::{write_data, write_quantity},
    params::{CallObject, Params, Reason},
};

const TRANSACTION: Argument = Argument::required("transaction", Kind::Call);
const BLOCK: Argument = Argument::optional("block", Kind::Block);

pub const METHODS: &[Method] = &[
    Method::threaded("eth_call", &[TRANSACTION, BLOCK], eth_call),
    Method::threaded("eth_estimateGas", &[TRANSACTION, BLOCK], estimate_gas),
];

fn eth_call(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let request = request(context, params)?;
    let view = context.view()?;
    let at = view.moment(params.optional()?.unwrap_or(BlockId::Latest))?;
    let limits = context.limits.call();
    match call(view.spec(), at.state(), view.as_ref(), at.header(), &request, limits)? {
        CallOutcome::Success { output, .. } => {
            let mut out = Vec::with_capacity(2 * output.len() + 4);
            write_data(&mut out, &output);
            Ok(out)
        }
        CallOutcome::Revert { output, .. } => Err(Error::CallReverted(output)),
        CallOutcome::Halt { reason, .. } => Err(Error::CallHalted(reason)),
    }
}

fn estimate_gas(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let request = request(context, params)?;
    let view = context.view()?;
    let at = view.moment(params.optional()?.unwrap_or(BlockId::Latest))?;
    let limits = context.limits.call();
    let gas = estimate(view.spec(), at.state(), view.as_ref(), at.header(), &request, limits)?;
    let mut out = Vec::new();
    write_quantity(&mut out, gas);
    Ok(out)
}

/// Reads the call object; a chain id in it must be this chain's.
fn request(context: &Context<'_>, params: &mut Params<'_>) -> Result<CallRequest, Error> {
    let object: CallObject = params.required()?;
    let want = context.node.spec().chain_id();
    if object.chain_id.is_some_and(|id| id != want) {
        return Err(params.wrong("chainId", Reason::ChainId { want }));
    }
    Ok(object.into())
}
