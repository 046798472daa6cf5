//! The precompiled contracts of an execution; state overrides may move them or put code in their place.

use alloy_primitives::{
    Address,
    map::{AddressMap, AddressSet},
};
use foreseal_types::SpecId;
use revm::{
    context::Cfg,
    context_interface::ContextTr,
    handler::{EthPrecompiles, PrecompileProvider},
    interpreter::{CallInputs, InterpreterResult},
};

/// For an address that differs from the rules: the precompiled contract that answers there, `None` when it has none.
pub type MovedPrecompiles = AddressMap<Option<Address>>;

/// Whether the rules of `fork` have a precompiled contract at this address.
pub fn is_precompile(fork: SpecId, address: &Address) -> bool {
    EthPrecompiles::new(fork).contains(address)
}

/// Where the rules of `fork` have precompiled contracts.
pub fn precompile_addresses(fork: SpecId) -> AddressSet {
    EthPrecompiles::new(fork).warm_addresses().clone()
}

/// The precompiled contracts of the rules, some of them elsewhere. Which addresses are warm (EIP-2929) stays as the rules
/// say.
pub struct Precompiles {
    rules: EthPrecompiles,
    moved: Option<Box<MovedPrecompiles>>,
}

impl Precompiles {
    pub fn new(fork: SpecId, moved: MovedPrecompiles) -> Self {
        let moved = (!moved.is_empty()).then(|| Box::new(moved));
        Self { rules: EthPrecompiles::new(fork), moved }
    }
}

impl<C: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<C> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        <EthPrecompiles as PrecompileProvider<C>>::set_spec(&mut self.rules, spec)
    }

    fn run(&mut self, context: &mut C, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        match self.moved.as_ref().and_then(|moved| moved.get(&inputs.bytecode_address)) {
            None => self.rules.run(context, inputs),
            Some(None) => Ok(None),
            Some(Some(original)) => {
                let inputs = CallInputs { bytecode_address: *original, ..inputs.clone() };
                self.rules.run(context, &inputs)
            }
        }
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.rules.warm_addresses()
    }
}
