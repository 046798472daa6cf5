//! Mining mode, and properties of the next block.

use alloy_primitives::{Address, B256};
use foreseal_node::{Mining, MiningOrder};
use foreseal_pool::DropReason;
use foreseal_scheduler::{Stopped, checkpoint};

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{hex::write_data, object::NULL},
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        development::{MineOptions, Number},
        positional::Params,
    },
};

const OPTIONS: Argument = Argument::optional("options", Kind::Mine).or("one block, now");
const BLOCKS: &[Argument] = &[
    Argument::optional("blocks", Kind::Number).or("1"),
    Argument::optional("interval", Kind::Number).or("the block time"),
];
const ADDRESS: Argument = Argument::required("address", Kind::Address);
const BASE_FEE: Argument = Argument::required("baseFee", Kind::Number);
const GAS_LIMIT: Argument = Argument::required("gasLimit", Kind::Number);
const RANDAO: Argument = Argument::required("prevRandao", Kind::Hash);
const HASH: Argument = Argument::required("hash", Kind::Hash);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::worker_pool("evm_mine", &[OPTIONS], evm_mine).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_mine", BLOCKS, mine_anvil).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_mine", BLOCKS, mine_hardhat).with_access(DEVELOPMENT),
    Method::worker_pool("evm_setAutomine", &[Argument::required("enabled", Kind::Boolean)], set_automine)
        .with_access(DEVELOPMENT),
    Method::worker_pool("anvil_getAutomine", &[], get_automine).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_getAutomine", &[], get_automine).with_access(DEVELOPMENT),
    Method::worker_pool(
        "evm_setIntervalMining",
        &[Argument::required("seconds", Kind::Number)],
        set_interval,
    )
    .with_access(DEVELOPMENT),
    Method::worker_pool("anvil_getIntervalMining", &[], get_interval).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setCoinbase", &[ADDRESS], set_coinbase).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setCoinbase", &[ADDRESS], set_coinbase).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setNextBlockBaseFeePerGas", &[BASE_FEE], set_base_fee)
        .with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setNextBlockBaseFeePerGas", &[BASE_FEE], set_base_fee)
        .with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setBlockGasLimit", &[GAS_LIMIT], set_gas_limit).with_access(DEVELOPMENT),
    Method::worker_pool("evm_setBlockGasLimit", &[GAS_LIMIT], set_gas_limit).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setPrevRandao", &[RANDAO], set_prev_randao).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setPrevRandao", &[RANDAO], set_prev_randao).with_access(DEVELOPMENT),
    Method::worker_pool("eth_mining", &[], is_mining).with_access(DEVELOPMENT),
    Method::inline("anvil_dropTransaction", &[HASH], drop_transaction).with_access(DEVELOPMENT),
    Method::inline("hardhat_dropTransaction", &[HASH], drop_hardhat_transaction).with_access(DEVELOPMENT),
];

fn evm_mine(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let MineOptions { timestamp, blocks } = params.optional()?.unwrap_or_default();
    let order = MiningOrder { blocks: blocks.unwrap_or(1), timestamp, ..MiningOrder::default() };
    run_order(context, order)?;
    Ok(br#""0x0""#.to_vec())
}

/// Mines like anvil: the interval is also between the clock and the first block.
fn mine_anvil(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    mine(context, params, false)
}

/// Mines like hardhat: the first block follows the clock.
fn mine_hardhat(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    mine(context, params, true)
}

fn mine(context: &Context<'_>, params: &mut Params<'_>, begins_now: bool) -> Result<Vec<u8>, Error> {
    let (blocks, interval): (Option<Number>, Option<Number>) = (params.optional()?, params.optional()?);
    let blocks = blocks.map_or(1, |Number(blocks)| blocks);
    let interval = interval.map(|Number(seconds)| seconds);
    run_order(context, MiningOrder { blocks, interval, begins_now, ..MiningOrder::default() })?;
    Ok(NULL.to_vec())
}

/// Mines until the last block, the stop of the node, or the end of the caller's connection. The time limit of calls
/// does not apply.
fn run_order(context: &Context<'_>, order: MiningOrder) -> Result<(), Error> {
    let mut ended = None;
    let done = context.node.mine(order, &mut || match checkpoint() {
        Ok(()) | Err(Stopped::TimeLimit(_)) => true,
        Err(reason) => {
            ended = Some(reason);
            false
        }
    });
    match ended {
        Some(reason) => Err(reason.into()),
        None => Ok(done?),
    }
}

/// Sets automatic mining. When it is turned off, interval mining remains in effect.
fn set_automine(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let enabled: bool = params.required()?;
    context.node.control(|writer| {
        let mining = match (enabled, writer.mining()) {
            (true, _) => Mining::Automatic,
            (false, Mining::Automatic) => Mining::Manual,
            (false, mining @ (Mining::Manual | Mining::Interval { .. } | Mining::Driver)) => mining,
        };
        writer.development().set_mining(mining)
    })?;
    Ok(NULL.to_vec())
}

fn get_automine(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let automatic = context.node.control(|writer| Ok(writer.mining() == Mining::Automatic))?;
    Ok(automatic.to_string().into_bytes())
}

/// Sets the mining interval in seconds; 0 means mining on demand only.
fn set_interval(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(seconds) = params.required()?;
    let mining = if seconds == 0 { Mining::Manual } else { Mining::Interval { seconds } };
    context.node.develop(|development| development.set_mining(mining))?;
    Ok(NULL.to_vec())
}

fn get_interval(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(match context.node.control(|writer| Ok(writer.mining()))? {
        Mining::Interval { seconds } => seconds.to_string().into_bytes(),
        Mining::Automatic | Mining::Manual | Mining::Driver => NULL.to_vec(),
    })
}

fn set_coinbase(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let address: Address = params.required()?;
    context.node.develop(|development| development.set_beneficiary(address))?;
    Ok(NULL.to_vec())
}

fn set_base_fee(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(wei) = params.required()?;
    context.node.develop(|development| development.set_base_fee(wei))?;
    Ok(NULL.to_vec())
}

fn set_gas_limit(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Number(gas_limit) = params.required()?;
    context.node.develop(|development| development.set_gas_limit(gas_limit))?;
    Ok(b"true".to_vec())
}

fn set_prev_randao(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let mix_hash: B256 = params.required()?;
    context.node.develop(|development| development.set_prev_randao(mix_hash))?;
    Ok(NULL.to_vec())
}

/// Returns `true` if blocks are sealed without a command, as geth did for a miner that runs. ape waits for receipts
/// only then.
fn is_mining(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let is_manual = context.node.control(|writer| Ok(writer.mining() == Mining::Manual))?;
    Ok((!is_manual).to_string().into_bytes())
}

/// Removes a transaction from the pool; a pre-confirmed one stays on the chain.
///
/// Returns the hash, or `null` if the transaction was not pooled.
fn drop_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash: B256 = params.required()?;
    let Some(dropped) = context.node.pool().discard(&hash, DropReason::Requested) else {
        return Ok(NULL.to_vec());
    };
    let mut out = Vec::new();
    write_data(&mut out, dropped.hash.as_slice());
    Ok(out)
}

/// Does the same as [`drop_transaction`]. Returns `true` if the transaction was pooled, as in hardhat.
fn drop_hardhat_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash: B256 = params.required()?;
    let dropped = context.node.pool().discard(&hash, DropReason::Requested);
    Ok(dropped.is_some().to_string().into_bytes())
}
