//! Rewinding the chain: to a snapshot, by a number of blocks, or onto another branch.

use std::sync::Arc;

use foreseal_primitives::Transaction;

use crate::{
    context::call_context::Context,
    errors::{development_error::DevelopmentError, error::Error},
    json::{hex::write_quantity, object::NULL},
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        development::{Amount, Number, ReorgPairs},
        positional::Params,
    },
};

const ID: Argument = Argument::required("id", Kind::Amount);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::worker_pool("evm_snapshot", &[], snapshot).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_snapshot", &[], snapshot).with_access(DEVELOPMENT),
    Method::worker_pool("evm_revert", &[ID], revert).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_revert", &[ID], revert).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_rollback", &[Argument::optional("depth", Kind::Number).or("1")], rollback)
        .with_access(DEVELOPMENT),
    Method::worker_pool(
        "anvil_reorg",
        &[
            Argument::required("depth", Kind::Number),
            Argument::optional("transactions", Kind::ReorgPairs).or("none"),
        ],
        reorg,
    )
    .with_access(DEVELOPMENT),
];

fn snapshot(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = context.node.develop(|development| development.snapshot())?;
    let mut out = Vec::new();
    write_quantity(&mut out, id);
    Ok(out)
}

/// Reverts to a snapshot. Returns `false` if it does not exist.
fn revert(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Amount(id) = params.required()?;
    let reverted = match u64::try_from(id) {
        Ok(id) => context.node.develop(|development| development.revert(id))?,
        Err(_) => false,
    };
    Ok(reverted.to_string().into_bytes())
}

fn rollback(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let depth = params.optional()?.map_or(1, |Number(depth)| depth);
    let result = context.node.control(|writer| {
        let height = writer.height();
        match height.checked_sub(depth) {
            Some(number) => writer.unwind(number).map(Ok),
            None => Ok(Err(DevelopmentError::ReorgDepth { height, depth })),
        }
    })?;
    result?;
    Ok(NULL.to_vec())
}

/// Reorganizes the chain. The transactions of the replaced blocks return to the pool, except those given
/// again in `transactions`.
fn reorg(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (Number(depth), pairs): (Number, Option<ReorgPairs>) = (params.required()?, params.optional()?);
    let height = context.newest_view()?.latest().number();
    if depth > height {
        return Err(DevelopmentError::ReorgDepth { height, depth }.into());
    }
    let length = usize::try_from(depth).unwrap_or(usize::MAX);
    let mut blocks: Vec<Vec<Arc<Transaction>>> = vec![Vec::new(); length];
    for (index, (raw, block)) in
        pairs.map(|ReorgPairs(pairs)| pairs).unwrap_or_default().into_iter().enumerate()
    {
        let block_transactions = usize::try_from(block).ok().and_then(|block| blocks.get_mut(block));
        let last = depth.saturating_sub(1);
        let block_transactions = block_transactions.ok_or(DevelopmentError::ReorgBlock { block, last })?;
        let transaction = Transaction::decode(&raw)
            .map_err(|error| DevelopmentError::ReorgTransaction { index, why: error.to_string() })?;
        block_transactions.push(Arc::new(transaction));
    }
    context.node.develop(|development| development.reorg(&blocks))?;
    Ok(NULL.to_vec())
}
