//! `eth_config` (EIP-7910): the current, next and last fork rules; `eth_capabilities`: the blocks for which this node
//! has data.

use alloy_eips::{eip2935, eip4788, eip7002, eip7251};
use alloy_primitives::{Address, B256};
use foreseal_evm::{PrecompileRules, named_precompiles};
use foreseal_primitives::{ChainSpec, ForkPoint, SpecId};
use foreseal_state::{BlockHashes as _, StateError};

use super::method::Method;
use crate::{
    context::call_context::Context, errors::error::Error, json::object::Object, params::positional::Params,
};

pub const METHODS: &[Method] = &[
    Method::worker_pool("eth_config", &[], eth_config).in_read_lane(),
    Method::worker_pool("eth_capabilities", &[], eth_capabilities).in_read_lane(),
];

/// Resources that the node retains from genesis on.
const COMPLETE: [&str; 5] = ["state", "tx", "logs", "receipts", "blocks"];

/// Returns the newest sealed block, and the oldest block of each resource. Only proofs have a limited window.
fn eth_capabilities(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let latest = &context.view()?.latest().block;
    let window = context.node.settings().store.proofs;
    let progress = context.node.store().reader().and_then(|reader| reader.progress());
    let proofs_from = progress.map_err(|error| StateError::Store(error.to_string()))?.proofs_from;
    let mut out = Vec::with_capacity(512);
    let mut object = Object::open(&mut out);
    Object::open(object.name("head"))
        .quantity("number", latest.header.number)
        .data("hash", latest.hash)
        .close();
    for name in COMPLETE {
        Object::open(object.name(name)).json("disabled", "false").quantity("oldestBlock", 0u64).close();
    }
    let mut proofs = Object::open(object.name("stateproofs"));
    proofs
        .json("disabled", "false")
        .quantity("oldestBlock", latest.header.number.saturating_sub(window).max(proofs_from));
    Object::open(proofs.name("deleteStrategy"))
        .json("type", "\"window\"")
        .quantity("retentionBlocks", window)
        .close();
    proofs.close();
    object.close();
    Ok(out)
}

/// Returns the rules at the newest sealed block. `next` and `last` are `null` if no further fork is
/// scheduled.
fn eth_config(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let view = context.view()?;
    let genesis = view.block_hash(0)?.unwrap_or_default();
    let now = view.latest().block.header.timestamp;
    let times = view.spec().fork_times();
    let current = times.iter().copied().rfind(|time| *time <= now).unwrap_or(0);
    let next = times.iter().copied().find(|time| *time > now);
    let last = next.and(times.last().copied());
    let rules = Rules { spec: view.spec(), genesis };
    let mut out = Vec::with_capacity(4096);
    let mut object = Object::open(&mut out);
    rules.write(object.name("current"), current);
    for (name, time) in [("next", next), ("last", last)] {
        match time {
            Some(time) => rules.write(object.name(name), time),
            None => {
                object.json(name, "null");
            }
        }
    }
    object.close();
    Ok(out)
}

struct Rules<'a> {
    spec: &'a ChainSpec,
    genesis: B256,
}

impl Rules<'_> {
    /// Writes the rules that activate at `time`; 0 means the rules of genesis.
    fn write(&self, out: &mut Vec<u8>, time: u64) {
        let spec = self.spec;
        let at = time.max(spec.genesis().timestamp);
        let point = ForkPoint { number: u64::MAX, timestamp: at, merged: true };
        let fork = spec.fork(point);
        let mut object = Object::open(out);
        object.json("activationTime", &time.to_string());
        match spec.blob_params(at) {
            None => {
                object.json("blobSchedule", "null");
            }
            Some(blobs) => Object::open(object.name("blobSchedule"))
                .json("target", &blobs.target_blob_count.to_string())
                .json("max", &blobs.max_blob_count.to_string())
                .json("baseFeeUpdateFraction", &blobs.update_fraction.to_string())
                .close(),
        }
        object.quantity("chainId", spec.chain_id()).data("forkId", spec.fork_hash(self.genesis, at));
        write_addresses(object.name("precompiles"), &named_precompiles(PrecompileRules::new(spec, point)));
        let contracts = system_contracts(fork, spec.deposit_contract());
        write_addresses(object.name("systemContracts"), &contracts);
        object.close();
    }
}

fn write_addresses(out: &mut Vec<u8>, named: &[(&'static str, Address)]) {
    let mut object = Object::open(out);
    for (name, address) in named {
        object.data(name, address);
    }
    object.close();
}

/// Returns the system contracts that block processing calls. The address of the deposit contract is specific
/// to the chain.
fn system_contracts(fork: SpecId, deposit: Option<Address>) -> Vec<(&'static str, Address)> {
    let cancun = [("BEACON_ROOTS_ADDRESS", eip4788::BEACON_ROOTS_ADDRESS)];
    let prague = [
        ("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS", eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
        ("DEPOSIT_CONTRACT_ADDRESS", deposit.unwrap_or_default()),
        ("HISTORY_STORAGE_ADDRESS", eip2935::HISTORY_STORAGE_ADDRESS),
        ("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
    ];
    let mut contracts = Vec::new();
    if fork.is_enabled_in(SpecId::CANCUN) {
        contracts.extend(cancun);
    }
    if fork.is_enabled_in(SpecId::PRAGUE) {
        contracts.extend(prague);
    }
    contracts
}
