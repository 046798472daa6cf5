//! `testing_buildBlockV1`: builds a payload on any block, without a change of the chain.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, Bytes};
use foreseal_builder::{BuildError, NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_chain::{BlockId, View};
use foreseal_evm::RejectedTransaction;
use foreseal_pool::Pool;
use foreseal_primitives::{Block, Transaction};
use foreseal_state::BlockHashes;

use crate::{
    context::call_context::Context,
    errors::{development_error::DevelopmentError, error::Error},
    json::{block::write_withdrawal, hex::write_data, object::Object},
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        payload::PayloadAttributes,
        positional::Params,
    },
};

pub const METHODS: &[Method] = &[Method::worker_pool(
    "testing_buildBlockV1",
    &[
        Argument::required("parentBlockHash", Kind::Hash),
        Argument::required("payloadAttributes", Kind::PayloadAttributes),
        Argument::optional("transactions", Kind::RawTransactions).or("transactions of the pool"),
        Argument::optional("extraData", Kind::Data).or("the node's"),
    ],
    build_block,
)
.with_access(Access::Development)];

/// Maximum length of a block's extra data in bytes (Yellow Paper, 4.3.4).
const MAX_EXTRA_DATA: usize = 32;

fn build_block(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash: B256 = params.required()?;
    let attributes: PayloadAttributes = params.required()?;
    let transactions: Option<Vec<Bytes>> = params.optional()?;
    let extra_data: Option<Bytes> = params.optional()?;
    let view = context.view()?;
    let parent = view.header_and_state(BlockId::Hash { hash, require_canonical: false })?;
    if attributes.timestamp <= parent.header().timestamp {
        return Err(DevelopmentError::PayloadTimestamp { parent: parent.header().timestamp }.into());
    }
    let production = &context.node.settings().production;
    let opening = NextBlockAttributes {
        merged: true,
        timestamp: attributes.timestamp,
        mix_hash: attributes.prev_randao,
        beneficiary: attributes.suggested_fee_recipient,
        gas_limit: production.gas_limit.unwrap_or(view.spec().genesis().gas_limit),
        extra_data: extra_data.unwrap_or_else(|| production.extra_data.clone()),
        exact_gas_limit: None,
        base_fee: None,
        parent_beacon_block_root: attributes.parent_beacon_block_root,
        withdrawals: attributes.withdrawals,
        transactions: Vec::new(),
    };
    if opening.extra_data.len() > MAX_EXTRA_DATA {
        return Err(
            DevelopmentError::ExtraData { length: opening.extra_data.len(), max: MAX_EXTRA_DATA }.into()
        );
    }
    let parent = ParentBlock { header: parent.header(), hash, state: parent.state() };
    let (open, _) = PendingBlock::open(view.spec(), parent, &opening, view.as_ref()).map_err(failed)?;
    let open = match transactions {
        Some(raw) => with_all(open, &decode_all(&raw)?, view.as_ref())?,
        None => with_pooled(open, context.node.pool(), view)?,
    };
    let requests = open.requests(view.as_ref())?;
    let mut out = Vec::new();
    write_payload(&mut out, &open.block(), requests.as_deref().map(Vec::as_slice));
    Ok(out)
}

fn failed(error: BuildError) -> Error {
    match error {
        BuildError::Execution(error) => error.into(),
        error => DevelopmentError::Payload(error.to_string()).into(),
    }
}

fn decode_all(raw: &[Bytes]) -> Result<Vec<Arc<Transaction>>, DevelopmentError> {
    let decode = |(index, raw): (usize, &Bytes)| {
        let transaction = Transaction::decode(raw)
            .map_err(|error| DevelopmentError::PayloadTransaction { index, why: error.to_string() })?;
        if is_blob(&transaction) {
            let why = "blob transactions are not supported".to_owned();
            return Err(DevelopmentError::PayloadTransaction { index, why });
        }
        Ok(Arc::new(transaction))
    };
    raw.iter().enumerate().map(decode).collect()
}

/// Returns `true` for a blob transaction. The payload would need its sidecar, which the node does not store.
fn is_blob(transaction: &Transaction) -> bool {
    transaction.envelope().blob_versioned_hashes().is_some()
}

/// Adds these transactions in this order.
///
/// # Errors
/// Returns an error for the first transaction that cannot be executed or does not fit into the block.
fn with_all(
    open: PendingBlock,
    transactions: &[Arc<Transaction>],
    hashes: &dyn BlockHashes,
) -> Result<PendingBlock, Error> {
    let built = open.include(transactions, hashes).map_err(failed)?;
    let next = built.step.map_or(open, |(next, _)| next);
    let block = next.block();
    let left_out = transactions.iter().zip(0..).position(|(transaction, index)| {
        block.transactions.get(index).is_none_or(|included| included.hash() != transaction.hash())
    });
    let Some(index) = left_out else { return Ok(next) };
    let hash = transactions[index].hash();
    let reason = built.rejected.iter().find(|(rejected, _)| *rejected == hash);
    let why = reason.map_or_else(
        || "does not fit into the block".to_owned(),
        |(_, reason): &(B256, RejectedTransaction)| reason.to_string(),
    );
    Err(DevelopmentError::PayloadTransaction { index, why }.into())
}

/// Adds the pool's best transactions, without those that cannot be executed on this parent.
fn with_pooled(open: PendingBlock, pool: &Pool, view: &View) -> Result<PendingBlock, Error> {
    // The fees of the block being built: others would reorder the pool for the next step.
    let (base_fee, blob_fee) = view.spec().base_fees(&view.pending().block.header);
    let mut best = pool.best(base_fee, blob_fee);
    let (mut chosen, mut gas) = (Vec::new(), 0_u64);
    while gas < open.header().gas_limit
        && let Some(pooled) = best.next()
    {
        if is_blob(pooled.transaction()) {
            best.skip_sender();
            continue;
        }
        gas = gas.saturating_add(pooled.transaction().envelope().gas_limit());
        chosen.push(pooled.transaction().clone());
    }
    drop(best);
    let built = open.include(&chosen, view).map_err(failed)?;
    Ok(built.step.map_or(open, |(next, _)| next))
}

fn write_payload(out: &mut Vec<u8>, block: &Block, requests: Option<&[Bytes]>) {
    let mut object = Object::open(out);
    write_execution_payload(object.name("executionPayload"), block);
    object
        .quantity("blockValue", block.priority_fees())
        .json("blobsBundle", r#"{"commitments":[],"proofs":[],"blobs":[]}"#);
    if let Some(requests) = requests {
        // Requests of one type without data are not listed (EIP-7685).
        let listed = requests.iter().filter(|request| request.len() > 1);
        object.list("executionRequests", listed, |out, request| write_data(out, request));
    }
    object.json("shouldOverrideBuilder", "false").close();
}

/// Writes the execution payload (execution API, `ExecutionPayloadV3`).
fn write_execution_payload(out: &mut Vec<u8>, block: &Block) {
    let header = &block.header;
    let mut object = Object::open(out);
    object
        .data("parentHash", header.parent_hash)
        .data("feeRecipient", header.beneficiary)
        .data("stateRoot", header.state_root)
        .data("receiptsRoot", header.receipts_root)
        .data("logsBloom", header.logs_bloom)
        .data("prevRandao", header.mix_hash)
        .quantity("blockNumber", header.number)
        .quantity("gasLimit", header.gas_limit)
        .quantity("gasUsed", header.gas_used)
        .quantity("timestamp", header.timestamp)
        .data("extraData", &header.extra_data)
        .optional_quantity("baseFeePerGas", header.base_fee_per_gas)
        .data("blockHash", block.hash)
        .list("transactions", &block.transactions, |out, one| write_data(out, one.encoded()));
    if let Some(withdrawals) = &block.withdrawals {
        object.list("withdrawals", withdrawals.iter(), write_withdrawal);
    }
    object
        .optional_quantity("blobGasUsed", header.blob_gas_used)
        .optional_quantity("excessBlobGas", header.excess_blob_gas)
        .close();
}
