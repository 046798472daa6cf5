//! `eth_getStorageValues`: slots of several accounts in one request.

use alloy_primitives::Address;
use foreseal_scheduler::checkpoint;
use foreseal_state::{State, StateReader};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::{Error, Limit},
    json::hex::write_data,
    params::{
        argument::{Argument, Kind},
        positional::Params,
        storage::{StorageKey, StorageRequests},
    },
};

pub const METHODS: &[Method] = &[Method::worker_pool(
    "eth_getStorageValues",
    &[Argument::required("requests", Kind::StorageRequests), Argument::block("block")],
    get_storage_values,
)];

/// Returns the values of the slots by account, in the order of the request.
fn get_storage_values(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let StorageRequests(requests) = params.required()?;
    let count = requests.iter().map(|(_, keys)| keys.len()).sum();
    Limit { name: "slots", max: context.limits.slots }.check(count)?;
    let at = context.view()?.header_and_state(params.block_or_latest()?)?;
    let mut out = vec![b'{'];
    for (index, (address, keys)) in requests.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_values(&mut out, at.state(), address, keys)?;
    }
    out.push(b'}');
    Ok(out)
}

fn write_values(
    out: &mut Vec<u8>,
    state: &State,
    address: &Address,
    keys: &[StorageKey],
) -> Result<(), Error> {
    let storage = state.account_storage(address)?;
    write_data(out, address.as_slice());
    out.extend_from_slice(b":[");
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        checkpoint()?;
        write_data(out, &storage.slot(&key.slot)?.to_be_bytes::<32>());
    }
    out.push(b']');
    Ok(())
}
