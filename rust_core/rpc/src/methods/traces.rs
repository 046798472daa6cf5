//! Traces: re-execution of a transaction, block or call with a recorder.

mod call;
mod trace_replay;

use alloy_primitives::B256;
use foreseal_chain::{BlockId, ResolveError};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::{Error, TraceError},
    json::hex::write_data,
    params::{
        argument::{Argument, Kind},
        positional::Params,
        trace::TraceConfig,
    },
};
use trace_replay::{TraceReplay, deadline, parent};

const CONFIG: Argument = Argument::optional("config", Kind::TraceConfig).or("every step of the machine");

pub const METHODS: &[Method] = &[
    Method::worker_pool(
        "debug_traceTransaction",
        &[Argument::required("hash", Kind::Hash), CONFIG],
        trace_transaction,
    ),
    Method::worker_pool(
        "debug_traceBlockByNumber",
        &[Argument::block("block"), CONFIG],
        trace_block_by_number,
    ),
    Method::worker_pool(
        "debug_traceBlockByHash",
        &[Argument::required("hash", Kind::Hash), CONFIG],
        trace_block_by_hash,
    ),
    Method::worker_pool(
        "debug_traceCall",
        &[
            Argument::required("transaction", Kind::Call),
            Argument::block("block"),
            Argument::optional("config", Kind::TraceCallConfig).or("every step of the machine"),
        ],
        call::trace_call,
    ),
];

fn trace_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash: B256 = params.required()?;
    let config: TraceConfig = params.optional()?.unwrap_or_default();
    let view = context.view()?;
    let (executed, index) = view.transaction(&hash)?.ok_or(TraceError::TransactionNotFound)?;
    let parent = parent(view, &executed)?;
    let mut rerun = TraceReplay::begin(context, view, &parent, &executed, deadline(context, config.timeout))?;
    rerun.advance(index)?;
    rerun.trace(&config.tracer)?;
    Ok(rerun.drain_output())
}

fn trace_block_by_number(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = params.block_or_latest()?;
    trace_block(context, params, id)
}

fn trace_block_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash = params.required()?;
    let id = BlockId::Hash { hash, require_canonical: false };
    match trace_block(context, params, id) {
        Err(Error::Resolve(ResolveError::NotFound)) => Err(TraceError::BlockNotFound { hash }.into()),
        result => result,
    }
}

fn trace_block(context: &Context<'_>, params: &mut Params<'_>, id: BlockId) -> Result<Vec<u8>, Error> {
    let config: TraceConfig = params.optional()?.unwrap_or_default();
    let view = context.view()?;
    let executed = view.resolve(id)?;
    let parent = parent(view, &executed)?;
    let mut rerun = TraceReplay::begin(context, view, &parent, &executed, deadline(context, config.timeout))?;
    let mut separator = b'[';
    for transaction in &executed.block.transactions {
        let out = rerun.out();
        out.push(separator);
        separator = b',';
        out.extend_from_slice(b"{\"txHash\":");
        write_data(out, transaction.hash().as_slice());
        out.extend_from_slice(b",\"result\":");
        rerun.trace(&config.tracer)?;
        rerun.out().push(b'}');
    }
    let mut out = rerun.drain_output();
    out.extend_from_slice(if separator == b'[' { b"[]" } else { b"]" });
    Ok(out)
}
