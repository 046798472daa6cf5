//! Traces: a transaction, a block or a call executed again with a recorder beside it.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_evm::{Deadline, Replay};
use foreseal_node::{BlockId, Executed, ResolveError, View};

use crate::{
    Argument, Context, Error, Kind, Method,
    errors::TraceError,
    json::{Place, TraceWriter, write_data},
    params::{Params, TraceConfig},
};

const CONFIG: Argument = Argument::optional("config", Kind::TraceConfig);

pub const METHODS: &[Method] = &[
    Method::threaded(
        "debug_traceTransaction",
        &[Argument::required("hash", Kind::Hash), CONFIG],
        trace_transaction,
    ),
    Method::threaded(
        "debug_traceBlockByNumber",
        &[Argument::required("block", Kind::Block), CONFIG],
        trace_block_by_number,
    ),
    Method::threaded(
        "debug_traceBlockByHash",
        &[Argument::required("hash", Kind::Hash), CONFIG],
        trace_block_by_hash,
    ),
];

fn trace_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash: B256 = params.required()?;
    let config: TraceConfig = params.optional()?.unwrap_or_default();
    let view = context.view()?;
    let (found, index) = view.transaction(&hash)?.ok_or(TraceError::TransactionNotFound)?;
    let traced = Traced::new(view, found)?;
    let mut replay = traced.begin(context, &config)?;
    for transaction in traced.block.block.transactions.iter().take(index) {
        replay.skip(transaction)?;
    }
    traced.trace(&mut replay, index, &config)?;
    Ok(std::mem::take(&mut replay.sink().out))
}

fn trace_block_by_number(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = params.required()?;
    trace_block(context, params, id)
}

fn trace_block_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = BlockId::Hash { hash: params.required()?, require_canonical: false };
    trace_block(context, params, id)
}

fn trace_block(context: &Context<'_>, params: &mut Params<'_>, id: BlockId) -> Result<Vec<u8>, Error> {
    let config: TraceConfig = params.optional()?.unwrap_or_default();
    let view = context.view()?;
    let traced = Traced::new(view, view.resolve(id)?)?;
    let mut replay = traced.begin(context, &config)?;
    let mut separator = b'[';
    for (index, transaction) in traced.block.block.transactions.iter().enumerate() {
        let out = &mut replay.sink().out;
        out.push(separator);
        separator = b',';
        out.extend_from_slice(b"{\"txHash\":");
        write_data(out, transaction.hash().as_slice());
        out.extend_from_slice(b",\"result\":");
        traced.trace(&mut replay, index, &config)?;
        replay.sink().out.push(b'}');
    }
    let mut out = std::mem::take(&mut replay.sink().out);
    out.extend_from_slice(if separator == b'[' { b"[]" } else { b"]" });
    Ok(out)
}

/// A block whose transactions are traced, and what they are executed on.
struct Traced<'a> {
    view: &'a Arc<View>,
    parent: Arc<Executed>,
    block: Arc<Executed>,
}

impl<'a> Traced<'a> {
    fn new(view: &'a Arc<View>, block: Arc<Executed>) -> Result<Self, Error> {
        let before = block.number().checked_sub(1).ok_or(TraceError::Genesis)?;
        let parent = view.sealed(before)?.ok_or(ResolveError::NotFound)?;
        Ok(Self { view, parent, block })
    }

    fn begin(&self, context: &Context<'_>, config: &TraceConfig) -> Result<Replay<'_, TraceWriter>, Error> {
        let limits = context.limits;
        let writer = TraceWriter::new(limits.trace_bytes);
        let header = &self.block.block.header;
        let mut replay =
            Replay::new(self.view.spec(), &self.parent.state, self.view.as_ref(), header, writer)?;
        let time = config.timeout.map_or(limits.call_time, |timeout| timeout.min(limits.call_time));
        replay.keep(Deadline::after(time));
        Ok(replay)
    }

    /// Traces the next transaction of the replay, which is the one at `index`.
    fn trace(
        &self,
        replay: &mut Replay<'_, TraceWriter>,
        index: usize,
        config: &TraceConfig,
    ) -> Result<(), Error> {
        let block = &self.block.block;
        let Some(transaction) = block.transactions.get(index) else { return Ok(()) };
        let place = Place {
            block_hash: Some(block.hash),
            block_number: block.header.number,
            hash: Some(transaction.hash()),
            index: index as u64,
        };
        replay.sink().open(&config.tracer);
        let most = replay.sink().left();
        let trace = replay.trace(transaction, &config.tracer.tracer(), most)?;
        replay.sink().write(&config.tracer, &trace, place)?;
        Ok(())
    }
}
