//! Fees: suggestions for new transactions, and the history of past blocks.

use alloy_consensus::{Header, Transaction as _};
use foreseal_chain::{BlockId, View};
use foreseal_primitives::{Block, ChainSpec};
use foreseal_scheduler::checkpoint;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        hex::write_quantity,
        object::{Object, write_list},
    },
    params::{
        argument::{Argument, Kind},
        development::Number,
        positional::Params,
        value::Percentiles,
    },
};

pub const METHODS: &[Method] = &[
    Method::inline("eth_gasPrice", &[], gas_price),
    Method::inline("eth_baseFee", &[], base_fee),
    Method::inline("eth_blobBaseFee", &[], blob_base_fee),
    Method::inline("eth_maxPriorityFeePerGas", &[], max_priority_fee_per_gas),
    Method::worker_pool(
        "eth_feeHistory",
        &[
            Argument::required("blockCount", Kind::Number),
            Argument::block("newestBlock"),
            Argument::optional("rewardPercentiles", Kind::Percentiles).or("no rewards"),
        ],
        fee_history,
    ),
];

/// Suggested tip (wei per gas) while blocks have room. Transactions are ordered by tip, so any tip suffices
/// then.
const MIN_TIP: u128 = 1_000_000;
/// [`MIN_TIP`] of a development chain, as geth, anvil and hardhat suggest. Clients estimate at `latest` with a cap of the
/// next base fee plus this tip (eth-ape 0.8.52), which is rejected while the base fee falls by more than the tip.
const MIN_DEVELOPMENT_TIP: u128 = 1_000_000_000;
/// Maximum tip (wei per gas) that is suggested, independent of what others pay.
const GREATEST_TIP: u128 = 500_000_000_000;
/// Maximum number of blocks in one fee history.
const MAX_HISTORY: u64 = 1024;

/// Returns the base fee of the pending block plus the suggested tip.
fn gas_price(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let view = context.view()?;
    let base_fee = view.pending().block.header.base_fee_per_gas.unwrap_or(0);
    Ok(quantity(suggested_tip(context, view).saturating_add(u128::from(base_fee))))
}

/// Returns the wei per gas in the pending block; zero before London.
fn base_fee(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let header = &context.view()?.pending().block.header;
    Ok(quantity(u128::from(header.base_fee_per_gas.unwrap_or(0))))
}

/// Returns the wei per blob gas in the pending block; zero before Cancun.
fn blob_base_fee(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let view = context.view()?;
    Ok(quantity(view.spec().blob_base_fee(&view.pending().block.header).unwrap_or(0)))
}

fn max_priority_fee_per_gas(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(quantity(suggested_tip(context, context.view()?)))
}

/// Returns the suggested tip, which is at least the minimum tip of the pool.
pub fn suggested_tip(context: &Context<'_>, view: &View) -> u128 {
    let is_development = context.node.settings().development.is_some();
    let min = if is_development { MIN_DEVELOPMENT_TIP } else { MIN_TIP };
    market_tip(view, min).max(context.node.pool().config().min_tip)
}

/// Returns `min` while there is room, else a tenth above the median of the nearly full block. On an OP chain the
/// footprint of data fills a block as gas does (Jovian).
fn market_tip(view: &View, min: u128) -> u128 {
    let full = [view.pending(), view.latest()].into_iter().map(|executed| &executed.block).find(|block| {
        let header = &block.header;
        let used =
            header.gas_used.max(view.spec().optimism().map_or(0, |_| header.blob_gas_used.unwrap_or(0)));
        u128::from(used) * 10 >= u128::from(header.gas_limit) * 9 && !block.transactions.is_empty()
    });
    let Some(block) = full else { return min };
    let median = tips(block, &[50.0]).first().copied().unwrap_or(0);
    median.saturating_add(median / 10).clamp(min, GREATEST_TIP)
}

fn fee_history(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    // The count may be a JSON number, as in geth.
    let (Number(count), newest) = (params.required()?, params.block_or_latest()?);
    let percentiles: Option<Percentiles> = params.optional()?;
    let view = context.view()?;
    let newest = view.resolve(newest)?;
    let count = count.min(MAX_HISTORY).min(newest.number().saturating_add(1));
    let first = newest.number() + 1 - count;
    // Reads one row at a time, so that at most one block outside the in-memory window is held.
    let older =
        (first..newest.number()).map(|number| BlockFeeHistory::read(view, number, percentiles.as_ref()));
    let mut rows = older.collect::<Result<Vec<BlockFeeHistory>, Error>>()?;
    let header = &newest.block.header;
    let next = (count > 0).then(|| next_fees(view.spec(), header));
    if count > 0 {
        rows.push(BlockFeeHistory::new(view.spec(), header, rewards(&newest.block, percentiles.as_ref())));
    }
    let mut out = Vec::new();
    write_history(&mut out, if count == 0 { 0 } else { first }, &rows, next, percentiles.is_some());
    Ok(out)
}

/// Fee history of one block.
#[derive(Debug)]
struct BlockFeeHistory {
    fees: Fees,
    gas_ratio: f64,
    blob_gas_ratio: f64,
    /// Wei per gas; `None` if the request has no percentiles.
    rewards: Option<Vec<u128>>,
}

impl BlockFeeHistory {
    /// Reads the row of a sealed block. The body is needed only for rewards.
    fn read(view: &View, number: u64, percentiles: Option<&Percentiles>) -> Result<Self, Error> {
        checkpoint()?;
        let id = BlockId::Number(number);
        if percentiles.is_none() {
            return Ok(Self::new(view.spec(), view.header_and_state(id)?.header(), None));
        }
        let executed = view.resolve(id)?;
        Ok(Self::new(view.spec(), &executed.block.header, rewards(&executed.block, percentiles)))
    }

    fn new(spec: &ChainSpec, header: &Header, rewards: Option<Vec<u128>>) -> Self {
        // On an OP chain, the blob gas is the footprint of data, which the gas limit bounds (Jovian).
        let max = match spec.optimism() {
            Some(_) => header.gas_limit,
            None => spec.blob_params(header.timestamp).map_or(0, |params| params.max_blob_gas_per_block()),
        };
        Self {
            fees: Fees {
                base_fee: header.base_fee_per_gas.unwrap_or(0),
                blob_fee: spec.blob_base_fee(header).unwrap_or(0),
            },
            gas_ratio: ratio(header.gas_used, header.gas_limit),
            blob_gas_ratio: ratio(header.blob_gas_used.unwrap_or(0), max),
            rewards,
        }
    }
}

/// Writes the history. `next` holds the fees after the last row: the lists of fees have one more entry than
/// there are blocks.
fn write_history(
    out: &mut Vec<u8>,
    oldest: u64,
    rows: &[BlockFeeHistory],
    next: Option<Fees>,
    rewarded: bool,
) {
    let fees = || rows.iter().map(|row| row.fees).chain(next);
    let mut object = Object::open(out);
    object
        .quantity("oldestBlock", oldest)
        .list("baseFeePerGas", fees().map(|fees| fees.base_fee), write_quantity)
        .list("gasUsedRatio", rows.iter().map(|row| row.gas_ratio), write_number)
        .list("baseFeePerBlobGas", fees().map(|fees| fees.blob_fee), write_quantity)
        .list("blobGasUsedRatio", rows.iter().map(|row| row.blob_gas_ratio), write_number);
    if rewarded {
        object.list("reward", rows, |out, row| {
            write_list(out, row.rewards.iter().flatten().copied(), write_quantity);
        });
    }
    object.close();
}

/// Fees of a block: wei per gas, wei per blob gas.
#[derive(Clone, Copy, Debug)]
struct Fees {
    base_fee: u64,
    blob_fee: u128,
}

/// Returns the fees of the block after `header`.
///
/// They depend on the header alone, so that a block gives the same result before and after it is sealed.
fn next_fees(spec: &ChainSpec, header: &Header) -> Fees {
    let excess_blob_gas = spec.excess_blob_gas_after(header, header.timestamp);
    let next = Header { timestamp: header.timestamp, excess_blob_gas, ..Header::default() };
    Fees {
        base_fee: spec.produced_base_fee(header).unwrap_or(0),
        blob_fee: spec.blob_base_fee(&next).unwrap_or(0),
    }
}

fn rewards(block: &Block, percentiles: Option<&Percentiles>) -> Option<Vec<u128>> {
    percentiles.map(|Percentiles(percentiles)| tips(block, percentiles))
}

/// Returns the tips (wei per gas) at `percentiles` of the block's gas, in ascending order; zeros for an empty
/// block.
fn tips(block: &Block, percentiles: &[f64]) -> Vec<u128> {
    let base_fee = block.header.base_fee_per_gas.unwrap_or(0);
    let paid = block.transactions.iter().zip(&block.receipts).map(|(transaction, receipt)| {
        let tip = transaction.envelope().effective_tip_per_gas(base_fee).unwrap_or(0);
        (tip, receipt.gas_used)
    });
    let mut paid: Vec<(u128, u64)> = paid.collect();
    paid.sort_unstable();
    let mut rows = paid.into_iter();
    let mut current = rows.next().unwrap_or_default();
    let mut gas = current.1;
    let at = |percentile: &f64| {
        // Rounded down as in geth: a fraction of gas must not advance to the next transaction.
        let threshold = (as_f64(block.header.gas_used) * percentile / 100.0).floor();
        while as_f64(gas) < threshold {
            let Some(next) = rows.next() else { break };
            current = next;
            gas = gas.saturating_add(next.1);
        }
        current.0
    };
    percentiles.iter().map(at).collect()
}

fn ratio(used: u64, limit: u64) -> f64 {
    if limit == 0 { 0.0 } else { as_f64(used) / as_f64(limit) }
}

/// Converts gas to a float. Block gas is far below 2^53, where precision would be lost.
#[allow(clippy::cast_precision_loss)]
fn as_f64(gas: u64) -> f64 {
    gas as f64
}

/// Writes a ratio between 0 and 1. Rust formats such a float without an exponent.
fn write_number(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(number.to_string().as_bytes());
}

fn quantity(value: u128) -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    write_quantity(&mut out, value);
    out
}
