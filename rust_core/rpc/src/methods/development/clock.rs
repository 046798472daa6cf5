//! Clock of the chain. Results are plain JSON numbers, as in anvil.

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::NULL,
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        development::Number,
        positional::Params,
    },
};

const SECONDS: Argument = Argument::required("seconds", Kind::Number);
const TIMESTAMP: Argument = Argument::required("timestamp", Kind::Number);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::worker_pool("evm_increaseTime", &[SECONDS], increase_time).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_increaseTime", &[SECONDS], increase_time).with_access(DEVELOPMENT),
    Method::worker_pool("evm_setNextBlockTimestamp", &[TIMESTAMP], set_next_timestamp)
        .with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setNextBlockTimestamp", &[TIMESTAMP], set_next_timestamp)
        .with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setBlockTimestampInterval", &[SECONDS], set_interval).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_removeBlockTimestampInterval", &[], remove_interval).with_access(DEVELOPMENT),
    Method::worker_pool("evm_setTime", &[TIMESTAMP], set_time).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setTime", &[TIMESTAMP], set_time).with_access(DEVELOPMENT),
];

/// Returns the offset of the chain's clock from the wall clock in seconds.
fn increase_time(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(seconds) = params.required()?;
    let ahead = context.node.develop(|development| development.increase_time(seconds))?;
    Ok(ahead.to_string().into_bytes())
}

fn set_next_timestamp(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(timestamp) = params.required()?;
    context.node.develop(|development| development.set_next_timestamp(timestamp))?;
    Ok(NULL.to_vec())
}

/// Returns the number of seconds by which the clock moved forward.
fn set_time(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(timestamp) = params.required()?;
    let later = context.node.develop(|development| development.set_time(timestamp))?;
    Ok(later.to_string().into_bytes())
}

/// Sets the seconds between the timestamps of blocks, at least 1.
fn set_interval(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(seconds) = params.required()?;
    context.node.develop(|development| development.set_timestamp_interval(Some(seconds.max(1))))?;
    Ok(NULL.to_vec())
}

/// Returns `true` if there was an interval.
fn remove_interval(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let before = context.node.develop(|development| development.set_timestamp_interval(None))?;
    Ok(before.is_some().to_string().into_bytes())
}
