//! The access list under which a request executes with unchanged behaviour (EIP-2930).

use std::collections::{BTreeMap, BTreeSet};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, map::AddressSet};
use revm::{
    Inspector,
    bytecode::opcode,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps},
    },
};

use crate::{
    call::{CallLimits, CallOutcome, CallRequest, Simulation},
    context::EvmContext,
    environment::Environment,
    error::ExecutionError,
    precompiles::PrecompileRules,
};

/// The access list of a request, and the outcome of its execution with that list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessListOutcome {
    /// Sorted by address and key. The sender, the called or created contract, precompiled contracts and
    /// authorities are listed only for their slots: their addresses are always warm.
    pub access_list: AccessList,
    pub outcome: CallOutcome,
}

/// Executes `request` repeatedly, each time with an access list of everything it touched before, until the
/// list stops growing.
///
/// Repetition is necessary because a contract may branch on its gas costs. Gas is bounded as in
/// [`crate::call()`].
///
/// # Errors
/// Returns the errors of [`crate::call()`].
pub fn create_access_list(
    environment: &Environment<'_>,
    request: &CallRequest,
    limits: CallLimits,
) -> Result<AccessListOutcome, ExecutionError> {
    let gas = limits.gas_or_max(request);
    let mut request = request.clone();
    let mut simulation = Simulation::with_inspector(environment, &request, Touched::default())?;
    let excluded = excluded(&mut simulation, environment, &request)?;
    let given = std::mem::take(&mut request.access_list).0;
    let mut touched = Touched::new(excluded, given);
    loop {
        request.access_list = touched.access_list();
        let count = touched.count();
        let mut simulation = Simulation::with_inspector(environment, &request, touched)?;
        simulation.set_deadline(limits.deadline);
        let outcome = simulation.inspect(gas)?.into();
        touched = std::mem::take(simulation.inspector());
        if touched.count() == count {
            return Ok(AccessListOutcome { access_list: request.access_list, outcome });
        }
    }
}

/// Returns the addresses that are warm without an access list.
fn excluded<I>(
    simulation: &mut Simulation<'_, I>,
    environment: &Environment<'_>,
    request: &CallRequest,
) -> Result<AddressSet, ExecutionError> {
    let sender = request.sender();
    let target = match request.to {
        Some(to) => to,
        None => sender.create(simulation.account(sender)?.nonce),
    };
    let mut excluded =
        PrecompileRules::new(environment.spec, environment.header).contracts().addresses_set().clone();
    excluded.extend([sender, target]);
    let valid = request.authorizations.iter().filter(|signed| {
        let id = signed.chain_id;
        (id.is_zero() || id == alloy_primitives::U256::from(environment.spec.chain_id()))
            && signed.nonce != u64::MAX
    });
    excluded.extend(valid.filter_map(|signed| signed.recover_authority().ok()));
    Ok(excluded)
}

/// Inspector that collects the addresses and slots that instructions touch.
#[derive(Default)]
struct Touched {
    excluded: AddressSet,
    list: BTreeMap<Address, BTreeSet<B256>>,
}

impl Touched {
    fn new(excluded: AddressSet, given: Vec<AccessListItem>) -> Self {
        let mut list: BTreeMap<Address, BTreeSet<B256>> = BTreeMap::new();
        for item in given.into_iter().filter(|item| !excluded.contains(&item.address)) {
            list.entry(item.address).or_default().extend(item.storage_keys);
        }
        Self { excluded, list }
    }

    /// Returns the number of addresses and keys; the list only grows.
    fn count(&self) -> usize {
        self.list.values().map(|keys| keys.len() + 1).sum()
    }

    fn access_list(&self) -> AccessList {
        let items = self.list.iter().map(|(address, keys)| AccessListItem {
            address: *address,
            storage_keys: keys.iter().copied().collect(),
        });
        AccessList(items.collect())
    }

    fn address(&mut self, word: Option<&alloy_primitives::U256>) {
        let Some(word) = word else { return };
        let address = Address::from_word((*word).into());
        if !self.excluded.contains(&address) {
            self.list.entry(address).or_default();
        }
    }
}

impl<'a> Inspector<EvmContext<'a>> for Touched {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut EvmContext<'a>) {
        let stack = interpreter.stack.data();
        let from_top = |position: usize| stack.len().checked_sub(position + 1).map(|at| &stack[at]);
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = from_top(0) {
                    let keys = self.list.entry(interpreter.input.target_address()).or_default();
                    keys.insert((*slot).into());
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => self.address(from_top(0)),
            opcode::DELEGATECALL | opcode::CALL | opcode::STATICCALL | opcode::CALLCODE
                if stack.len() >= 5 =>
            {
                self.address(from_top(1));
            }
            _ => {}
        }
    }
}
