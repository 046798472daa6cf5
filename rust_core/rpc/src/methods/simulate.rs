//! `eth_simulateV1`: simulates blocks of unsigned transactions on top of a block of the chain.

use foreseal_chain::ResolveError;
use foreseal_evm::{
    CallStatus, Deadline, SimulateBase, SimulateError, SimulateOptions, SimulatedBlock, SimulatedResult,
    halt_message, simulate,
};
use foreseal_primitives::{FoundLog, log_json_size};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::{Error, SimulationLimit},
    json::{
        answer_size::{SizeBounds, min_log_size},
        block::write_block,
        log::write_log,
        object::{Object, write_list},
        pace::paced,
        revert,
    },
    params::{
        argument::{Argument, Kind},
        invalid::Reason,
        positional::Params,
        simulation::Simulation,
    },
};

pub const METHODS: &[Method] = &[Method::worker_pool(
    "eth_simulateV1",
    &[Argument::required("payload", Kind::Simulation), Argument::block("block")],
    simulate_v1,
)];

/// Maximum number of simulated blocks after the base; `BLOCKHASH` reaches as far.
const MAX_BLOCKS: u64 = 256;
/// Maximum number of calls in one block, and in all blocks together, as in geth.
const MAX_BLOCK_CALLS: usize = 5_000;
const MAX_CALLS: usize = 10_000;
/// Size of a call's result without logs and output, in bytes.
const CALL_SIZE: usize = 512;

fn simulate_v1(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let simulation: Simulation = params.required()?;
    check(context, params, &simulation)?;
    let view = context.view()?;
    let at = view.header_and_state(params.block_or_latest()?).map_err(|error| match error {
        ResolveError::NotFound => Error::SimulationBaseNotFound,
        error => error.into(),
    })?;
    let base = SimulateBase {
        spec: view.spec(),
        header: at.header(),
        hash: at.hash(),
        state: at.state(),
        hashes: view.as_ref(),
    };
    let options = SimulateOptions {
        validation: simulation.validation,
        trace_transfers: simulation.trace_transfers,
        blocks: MAX_BLOCKS,
        gas: context.limits.simulate_gas,
        deadline: Deadline::after(context.limits.call_time),
    };
    let blocks = simulate(&base, simulation.blocks, &options)?;
    // The logs are on no chain: nothing returns them in pages.
    let sizes = blocks.iter().map(|block| simulated_size(block, simulation.full_transactions));
    context.check_size(sizes.sum(), false)?;
    let mut out = Vec::new();
    write_list(&mut out, &blocks, |out, block| write_simulated(out, block, simulation.full_transactions));
    Ok(out)
}

/// Checks the limits of a request, and that its chain ids match this chain.
fn check(context: &Context<'_>, params: &Params<'_>, simulation: &Simulation) -> Result<(), Error> {
    let blocks = &simulation.blocks;
    if blocks.len() as u64 > MAX_BLOCKS {
        return Err(SimulateError::TooManyBlocks { max: MAX_BLOCKS }.into());
    }
    if blocks.iter().any(|block| block.calls.len() > MAX_BLOCK_CALLS) {
        return Err(SimulationLimit::BlockCalls { max: MAX_BLOCK_CALLS }.into());
    }
    if blocks.iter().map(|block| block.calls.len()).sum::<usize>() > MAX_CALLS {
        return Err(SimulationLimit::Calls { max: MAX_CALLS }.into());
    }
    let want = context.node.spec().chain_id();
    for (index, block) in blocks.iter().enumerate() {
        let wrong = block.calls.iter().position(|call| call.request.chain_id.is_some_and(|id| id != want));
        if let Some(call) = wrong {
            let field = format!("blockStateCalls[{index}].calls[{call}].chainId");
            return Err(params.wrong(&field, Reason::ChainId { want }).into());
        }
    }
    Ok(())
}

/// Returns the bounds of the size of a simulated block.
fn simulated_size(simulated: &SimulatedBlock, full: bool) -> SizeBounds {
    let calls = simulated.calls.iter().map(|call| {
        let (logs, output) = (call.logs.iter(), call.output.len());
        // A revert has its output as data and as text, in which a byte may need six.
        let each = if call.status == CallStatus::Revert { 8 } else { 2 };
        SizeBounds {
            min: logs.clone().map(min_log_size).sum::<usize>() + 2 * output,
            max: CALL_SIZE + logs.map(log_json_size).sum::<usize>() + each * output,
        }
    });
    [SizeBounds::block(&simulated.block, full), calls.sum()].into_iter().sum()
}

/// Writes a block in the usual format, plus the results of its calls.
fn write_simulated(out: &mut Vec<u8>, simulated: &SimulatedBlock, full: bool) {
    write_block(out, &simulated.block, full);
    let closed = out.pop();
    debug_assert_eq!(closed, Some(b'}'), "a block is an object");
    out.extend_from_slice(b",\"calls\":");
    write_list(out, (0..).zip(paced(&simulated.calls)), |out, (index, call)| {
        write_call(out, simulated, index, call);
    });
    out.push(b'}');
}

fn write_call(out: &mut Vec<u8>, simulated: &SimulatedBlock, index: u64, call: &SimulatedResult) {
    let block = &simulated.block;
    let hash =
        usize::try_from(index).ok().and_then(|index| block.transactions.get(index)).map(|one| one.hash());
    let mut object = Object::open(out);
    let returned = if call.status == CallStatus::Success { call.output.as_ref() } else { &[] };
    let logs = (call.first_log_index..).zip(paced(&call.logs));
    object.data("returnData", returned).list("logs", logs, |out, (position, log)| {
        let entry = FoundLog {
            log,
            block_number: block.header.number,
            block_hash: block.hash,
            timestamp: block.header.timestamp,
            transaction_hash: hash.unwrap_or_default(),
            transaction_index: index,
            index: position,
        };
        write_log(out, &entry, false);
    });
    object.quantity("gasUsed", call.gas_used).quantity("maxUsedGas", call.gas_spent);
    match &call.status {
        CallStatus::Success => {
            object.json("status", "\"0x1\"");
        }
        CallStatus::Revert => {
            object.json("status", "\"0x0\"");
            let message = revert::message(&call.output);
            Object::open(object.name("error"))
                .json("code", "3")
                .text("message", &message)
                .data("data", &call.output)
                .close();
        }
        CallStatus::Halt(reason) => {
            object.json("status", "\"0x0\"");
            Object::open(object.name("error"))
                .json("code", "-32015")
                .text("message", &halt_message(reason))
                .close();
        }
    }
    object.close();
}
