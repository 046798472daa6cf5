//! Method table: the list of all families, and the methods that describe the table.

#![allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::Object,
    methods::{
        block_contents, blocks, calls, chain, cluster, config,
        development::{
            accounts, build_block, clock, mining, node_info, overrides, send_transaction, signing,
            snapshots_and_reorgs, state_dump,
        },
        discover::document,
        estimates, fees, fill_transaction, filters, finality, logs,
        method::Method,
        preconfirmation, proofs, raw, send_sync, simulate, state, storage_values, submit, subscriptions,
        traces, transaction_status, transactions, txpool,
    },
    params::positional::Params,
};

/// Methods by family.
const FAMILIES: &[&[Method]] = &[
    block_contents::METHODS,
    blocks::METHODS,
    calls::METHODS,
    chain::METHODS,
    cluster::METHODS,
    config::METHODS,
    accounts::METHODS,
    build_block::METHODS,
    clock::METHODS,
    mining::METHODS,
    overrides::METHODS,
    snapshots_and_reorgs::METHODS,
    state_dump::METHODS,
    send_transaction::METHODS,
    signing::METHODS,
    DISCOVERY,
    estimates::METHODS,
    fees::METHODS,
    fill_transaction::METHODS,
    filters::METHODS,
    finality::METHODS,
    logs::METHODS,
    preconfirmation::answer::METHODS,
    proofs::METHODS,
    raw::METHODS,
    send_sync::METHODS,
    simulate::METHODS,
    state::METHODS,
    storage_values::METHODS,
    submit::METHODS,
    subscriptions::METHODS,
    transaction_status::METHODS,
    traces::METHODS,
    transactions::METHODS,
    txpool::METHODS,
    // Last, as tests call the methods in this order, and a reset removes their blocks.
    node_info::METHODS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Method>> =
    LazyLock::new(|| methods().map(|method| (method.name, method)).collect());

/// Returns all methods.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the method with this name.
pub fn method(name: &str) -> Option<&'static Method> {
    BY_NAME.get(name).copied()
}

/// Methods about the table itself.
const DISCOVERY: &[Method] = &[
    Method::worker_pool("rpc.discover", &[], discover).in_read_lane(),
    Method::inline("rpc_modules", &[], modules),
];

fn discover(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(document(served(context)))
}

/// Returns the namespace of each method with a version, as in geth.
fn modules(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let names: BTreeSet<&str> =
        served(context).filter_map(|method| method.name.split(['_', '.']).next()).collect();
    let mut out = Vec::with_capacity(256);
    let mut object = Object::open(&mut out);
    for name in names {
        object.json(name, "\"1.0\"");
    }
    object.close();
    Ok(out)
}

/// Returns the methods that this caller may call.
fn served<'a>(context: &'a Context<'_>) -> impl Iterator<Item = &'static Method> + 'a {
    methods().filter(|method| method.check_access(context).is_ok())
}

/// Returns the OpenRPC document of all methods, for every level of access.
pub fn openrpc() -> Vec<u8> {
    document(methods())
}
