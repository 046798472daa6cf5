//! Identity and settings of a development node, in the form of anvil and hardhat, and its reset.

use alloy_primitives::B256;
use foreseal_keccak::keccak;
use foreseal_primitives::ForkPoint;
use foreseal_state::BlockHashes;

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::{NULL, Object},
    methods::{
        chain::version_of_client,
        method::{Access, Method},
    },
    params::{
        argument::{Argument, Kind},
        development::ResetOptions,
        positional::Params,
    },
};

const DEVELOPMENT: Access = Access::Development;
const OPTIONS: Argument = Argument::optional("options", Kind::Reset).or("the genesis block");
const ENABLED: Argument = Argument::required("enabled", Kind::Boolean);

pub const METHODS: &[Method] = &[
    Method::worker_pool("anvil_metadata", &[], metadata).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_metadata", &[], metadata).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_nodeInfo", &[], node_info).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_reset", &[OPTIONS], reset).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_reset", &[OPTIONS], reset).with_access(DEVELOPMENT),
    Method::inline("anvil_setLoggingEnabled", &[ENABLED], set_logging).with_access(DEVELOPMENT),
    Method::inline("hardhat_setLoggingEnabled", &[ENABLED], set_logging).with_access(DEVELOPMENT),
];

/// Returns the metadata of anvil (`clientSemver`, `snapshots`) and of hardhat; numbers are JSON integers.
fn metadata(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let view = context.view()?;
    let genesis = view.block_hash(0)?.unwrap_or_default();
    let latest = view.latest();
    let mut out = Vec::with_capacity(512);
    Object::open(&mut out)
        .json("clientVersion", &format!("\"{}\"", version_of_client(context)))
        .json("clientSemver", concat!("\"", env!("CARGO_PKG_VERSION"), "\""))
        .json("chainId", &view.spec().chain_id().to_string())
        .data("instanceId", instance_id(context, genesis))
        .json("latestBlockNumber", &latest.number().to_string())
        .data("latestBlockHash", latest.block.hash)
        .json("forkedNetwork", "null")
        .json("snapshots", "{}")
        .close();
    Ok(out)
}

/// Returns an id that differs between data directories and after each reset: tools that record deployments discard
/// those of another instance.
fn instance_id(context: &Context<'_>, genesis: B256) -> B256 {
    let signer = context.node.status().signer.unwrap_or_default();
    keccak(&[genesis.as_slice(), signer.as_slice(), &context.development.resets().to_be_bytes()].concat())
}

fn node_info(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let view = context.view()?;
    let (latest, pending) = (&view.latest().block, &view.pending().block.header);
    let fork = <&str>::from(view.spec().fork(ForkPoint::from(pending))).to_lowercase();
    let mut out = Vec::with_capacity(512);
    let mut object = Object::open(&mut out);
    object
        .quantity("currentBlockNumber", latest.header.number)
        .json("currentBlockTimestamp", &latest.header.timestamp.to_string())
        .data("currentBlockHash", latest.hash)
        .json("hardFork", &format!("\"{fork}\""))
        .json("transactionOrder", "\"fees\"");
    let base_fee = pending.base_fee_per_gas.unwrap_or_default();
    Object::open(object.name("environment"))
        .quantity("baseFee", base_fee)
        .json("chainId", &view.spec().chain_id().to_string())
        .quantity("gasLimit", pending.gas_limit)
        .quantity("gasPrice", base_fee)
        .close();
    object.json("forkConfig", r#"{"forkUrl":null,"forkBlockNumber":null,"forkRetryBackoff":null}"#).close();
    Ok(out)
}

fn reset(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let _: Option<ResetOptions> = params.optional()?;
    context.node.develop(|development| development.reset_chain())?;
    context.development.reset();
    Ok(b"true".to_vec())
}

/// Has no effect: the level of logs is a setting of the node.
fn set_logging(_: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let _: bool = params.required()?;
    Ok(NULL.to_vec())
}
