//! Methods about the chain and the node.

#![allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]

use alloy_primitives::Bytes;
use foreseal_keccak::keccak;
use foreseal_node::{Head, Status, Warning};
use foreseal_replication::{CatchingUp, Phase, PoolStart, StoreStatus};
use serde_json::Value;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        hex::{write_data, write_quantity},
        object::Object,
    },
    methods::cluster,
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

pub const METHODS: &[Method] = &[
    Method::inline("eth_chainId", &[], chain_id),
    Method::inline("eth_blockNumber", &[], block_number),
    Method::inline("eth_syncing", &[], syncing),
    Method::inline("net_version", &[], net_version),
    Method::inline("net_listening", &[], net_listening),
    Method::inline("net_peerCount", &[], net_peer_count),
    Method::inline("web3_clientVersion", &[], client_version),
    Method::worker_pool("web3_sha3", &[Argument::required("data", Kind::Data)], sha3).in_read_lane(),
    Method::inline("foreseal_status", &[], status),
];

fn chain_id(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(quantity(context.node.spec().chain_id()))
}

fn block_number(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(quantity(context.view()?.latest().number()))
}

/// Returns `false`, or the progress of a follower that lags.
///
/// The progress is its start block, its current block and the last reported block of the sequencer. The
/// sequencer never syncs.
fn syncing(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Some(CatchingUp { start, current, highest }) = context.node.catching_up() else {
        return Ok(b"false".to_vec());
    };
    let mut out = Vec::with_capacity(96);
    Object::open(&mut out)
        .quantity("startingBlock", start)
        .quantity("currentBlock", current)
        .quantity("highestBlock", highest)
        .close();
    Ok(out)
}

fn net_version(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(format!("\"{}\"", context.node.spec().chain_id()).into_bytes())
}

/// Returns `true`: a node that answers is listening.
fn net_listening(_: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(b"true".to_vec())
}

/// Returns 0: the chain has one writer and no peer-to-peer network.
fn net_peer_count(_: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(quantity(0))
}

fn sha3(_: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let bytes: Bytes = params.required()?;
    let mut out = Vec::with_capacity(68);
    write_data(&mut out, keccak(&bytes).as_slice());
    Ok(out)
}

fn client_version(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(format!("\"{}\"", version_of_client(context)).into_bytes())
}

/// Returns the name and version of the node. On a development chain it begins with `anvil`, as
/// `@nomicfoundation/hardhat-network-helpers` requires of a node with these methods.
pub(crate) fn version_of_client(context: &Context<'_>) -> String {
    let (version, os, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let compatible = if context.node.settings().development.is_some() { "anvil-compatible/" } else { "" };
    format!("{compatible}foreseal/v{version}/{os}-{machine}/rust")
}

/// Returns the position of the request's view, and the age and role of this process.
///
/// Block fields are `null` during the replay of the journal. Positions are quantities, as in other methods.
/// Times (ms) and pool counts are plain numbers for monitoring.
fn status(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let status = context.node.status();
    let counts = context.node.pool().counts();
    let mut out = Vec::with_capacity(512);
    let mut object = Object::open(&mut out);
    match context.view().ok().map(|view| Head::from(&**view)) {
        Some(head) => object
            .quantity("block", head.block)
            .quantity("index", head.index)
            .data("hash", head.hash)
            .quantity("latest", head.latest)
            .quantity("safe", head.safe)
            .quantity("finalized", head.finalized),
        None => ["block", "index", "hash", "latest", "safe", "finalized"]
            .into_iter()
            .fold(&mut object, |object, name| object.json(name, "null")),
    };
    object
        .json("age", &status.age.as_millis().to_string())
        .json("role", if status.following.is_some() { "\"follower\"" } else { "\"sequencer\"" })
        .json("lag", &status.following.as_ref().map_or(0, |following| following.lag).to_string())
        .json("phase", &format!("\"{}\"", status.phase.name()))
        .json("producing", if status.produces { "true" } else { "false" })
        .nullable_data("signer", status.signer);
    if let Some(reason) = reason(&status) {
        object.json("reason", &Value::from(reason).to_string());
    }
    object.json("clockLead", &status.clock_lead.as_millis().to_string());
    object.json("warnings", &Value::from(warnings(&status)).to_string());
    Object::open(object.name("pool"))
        .json("pooled", &counts.pooled.to_string())
        .json("queued", &counts.queued.to_string())
        .json("bytes", &counts.bytes.to_string())
        .json("start", &format!("\"{}\"", pool_start(status.pool_start)))
        .close();
    Object::open(object.name("memory"))
        .json("budget", &context.node.memory().bytes().to_string())
        .json("bytes", &memory_bytes(context).to_string())
        .close();
    if let Some(store) = &status.store {
        write_store(object.name("store"), store);
    }
    if let Some(cluster) = &status.cluster {
        cluster::write_cluster(object.name("cluster"), cluster, &context.node.followers());
    }
    object.close();
    Ok(out)
}

/// Returns the size of the data of the chain and the pool in memory that the budget bounds, in bytes.
fn memory_bytes(context: &Context<'_>) -> u64 {
    let uses = context.node.caches().into_iter().chain(context.caches.metrics());
    // Blocks that the store does not have are among the sealed blocks.
    uses.filter(|cache| cache.name != "unstored_blocks").map(|cache| cache.bytes).sum()
}

/// Writes the store's newest block number, its backlog, its scrub progress and the builder throttle (1 is
/// unthrottled).
fn write_store(out: &mut Vec<u8>, store: &StoreStatus) {
    let mut object = Object::open(out);
    match store.head {
        Some(head) => object.quantity("head", head),
        None => object.json("head", "null"),
    };
    object
        .json("backlog", &store.backlog.to_string())
        .json("share", &format!("{}.{:03}", store.share / 1000, store.share % 1000))
        .json("bytes", &store.bytes.to_string());
    let scrub = &store.scrub;
    Object::open(object.name("scrub"))
        .json("bytes", &scrub.bytes.to_string())
        .json("total", &scrub.total.to_string())
        .json("passes", &scrub.passes.to_string())
        .json("damaged", &scrub.damaged.to_string())
        .json("unchecked", &scrub.unchecked.to_string())
        .json("errors", &scrub.errors.to_string())
        .json("last", &scrub.last.map_or_else(|| "null".to_owned(), |last| last.to_string()))
        .close();
    if let Some(failure) = &store.failure {
        object.json("reason", &Value::from(failure.as_str()).to_string());
    }
    object.close();
}

/// Returns the reason of a failure or disconnection, of this node or of the sequencer that it follows.
fn reason(status: &Status) -> Option<&str> {
    let own = Some(&status.phase);
    let followed = status.following.as_ref().and_then(|following| following.sequencer.as_ref());
    [own, followed].into_iter().flatten().find_map(|phase| match phase {
        Phase::Failed(reason) | Phase::Disconnected(reason) => Some(reason.as_str()),
        _ => None,
    })
}

fn warnings(status: &Status) -> Vec<Value> {
    let json = |warning: Warning| serde_json::json!({"code": warning.code(), "message": warning.to_string()});
    status.warnings().into_iter().map(json).collect()
}

/// Returns the initial state of the pool: transactions that were only pooled do not survive a crash.
fn pool_start(start: PoolStart) -> &'static str {
    match start {
        PoolStart::New => "new",
        PoolStart::Restored(_) => "restored",
        PoolStart::LostInCrash => "lost in crash",
    }
}

fn quantity(value: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(20);
    write_quantity(&mut out, value);
    out
}
