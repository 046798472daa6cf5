//! The precompiled contracts of an execution; state overrides may move them or replace them with code.

use std::{sync::Once, time::Duration};

use alloy_primitives::{
    Address, Bytes,
    map::{AddressMap, AddressSet},
};
use foreseal_primitives::{ChainSpec, ForkPoint, OptimismFork, OptimismRules, SpecId};
use revm::{
    context::Cfg,
    context_interface::ContextTr,
    handler::{EthPrecompiles, PrecompileProvider},
    interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult},
    precompile::{PrecompileSpecId, install_crypto, u64_to_address},
};

use crate::{
    arithmetic::Arithmetic,
    deadline::STRICT_INPUT,
    optimism::{InputLimit, input_limits, optimism_precompiles},
    precompile_time::precompile_time,
};

static ARITHMETIC: Once = Once::new();

/// Installs [`Arithmetic`] for the whole process; only this crate executes in it.
pub(crate) fn install_arithmetic() {
    ARITHMETIC.call_once(|| {
        install_crypto(Arithmetic);
    });
}

/// Precompiled contract that answers at an address that deviates from the rules; `None` if none answers
/// there.
pub type MovedPrecompiles = AddressMap<Option<Address>>;

/// The rules that decide which precompiled contracts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecompileRules {
    fork: SpecId,
    optimism: Option<OptimismFork>,
}

impl PrecompileRules {
    /// Returns the rules of a block.
    pub fn new(spec: &ChainSpec, at: impl Into<ForkPoint>) -> Self {
        Self { fork: spec.fork(at), optimism: spec.optimism().map(OptimismRules::fork) }
    }

    /// Returns the precompiled contracts.
    pub(crate) fn contracts(self) -> &'static revm::precompile::Precompiles {
        match self.optimism {
            None => revm::precompile::Precompiles::new(PrecompileSpecId::from_spec_id(self.fork)),
            Some(fork) => optimism_precompiles(fork),
        }
    }

    /// Returns `true` if there is a precompiled contract at this address.
    pub(crate) fn contains(self, address: &Address) -> bool {
        self.contracts().contains(address)
    }

    fn input_limits(self) -> &'static [InputLimit] {
        self.optimism.map_or(&[], input_limits)
    }
}

/// The precompiled contracts of the rules, some of them moved. Moving does not change the warm addresses
/// (EIP-2929).
pub struct Precompiles {
    rules: EthPrecompiles,
    input_limits: &'static [InputLimit],
    moved: Option<Box<MovedPrecompiles>>,
}

impl Precompiles {
    pub fn new(rules: PrecompileRules) -> Self {
        install_arithmetic();
        let contracts = EthPrecompiles { precompiles: rules.contracts(), spec: rules.fork };
        Self { rules: contracts, input_limits: rules.input_limits(), moved: None }
    }

    /// Moves contracts to other addresses.
    pub fn set_moved(&mut self, moved: MovedPrecompiles) {
        self.moved = (!moved.is_empty()).then(|| Box::new(moved));
    }

    /// Runs a contract at its own address.
    fn run_unmoved<C: ContextTr<Cfg: Cfg<Spec = SpecId>>>(
        &mut self,
        context: &mut C,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        if self.exceeds_input_limit(&inputs.bytecode_address, inputs) {
            let mut gas = Gas::new(inputs.gas_limit);
            gas.spend_all();
            return Ok(Some(InterpreterResult::new(InstructionResult::PrecompileError, Bytes::new(), gas)));
        }
        self.rules.run(context, inputs)
    }

    fn exceeds_input_limit(&self, original: &Address, inputs: &CallInputs) -> bool {
        let limit = self.input_limits.iter().find(|(address, _)| address == original);
        limit.is_some_and(|(_, longest)| inputs.input.len() > *longest)
    }

    /// Returns the own address of the contract that the call reaches; `None` if it reaches none.
    fn original_address(&self, inputs: &CallInputs) -> Option<Address> {
        let address = match self.moved.as_ref().and_then(|moved| moved.get(&inputs.bytecode_address)) {
            None => inputs.bytecode_address,
            Some(original) => (*original)?,
        };
        self.rules.contains(&address).then_some(address)
    }

    /// Returns `true` if the call reaches a precompiled contract that may run more than some microseconds:
    /// any except the oldest four, and any with a long input.
    pub fn is_long(&self, inputs: &CallInputs) -> bool {
        let oldest = 1..=4;
        self.original_address(inputs).is_some_and(|address| {
            inputs.input.len() > STRICT_INPUT
                || !oldest.clone().any(|number| address == u64_to_address(number))
        })
    }

    /// Returns the time that the call may spend in a precompiled contract, see [`precompile_time`]; zero if it reaches
    /// none.
    pub fn time<C: ContextTr>(&self, context: &C, inputs: &CallInputs) -> Duration {
        match self.original_address(inputs) {
            Some(original) if !self.exceeds_input_limit(&original, inputs) => {
                precompile_time(&original, &inputs.input.as_bytes(context), inputs.gas_limit)
            }
            _ => Duration::ZERO,
        }
    }
}

impl<C: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<C> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        <EthPrecompiles as PrecompileProvider<C>>::set_spec(&mut self.rules, spec)
    }

    fn run(&mut self, context: &mut C, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        match self.moved.as_ref().and_then(|moved| moved.get(&inputs.bytecode_address)) {
            None => self.run_unmoved(context, inputs),
            Some(None) => Ok(None),
            Some(Some(original)) => {
                let inputs = CallInputs { bytecode_address: *original, ..inputs.clone() };
                self.run_unmoved(context, &inputs)
            }
        }
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.rules.warm_addresses()
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;
    use revm::precompile::crypto;

    use super::*;

    /// A test vector of c-kzg: `verify_kzg_proof_case_correct_proof_4_4`.
    const COMMITMENT: [u8; 48] = hex!(
        "8f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7"
    );
    const Z: [u8; 32] = hex!("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000");
    const Y: [u8; 32] = hex!("1522a4a7f34e1ea350ae07c29c96c7e79655aa926122e95fe69fcbd932ca49e9");
    const PROOF: [u8; 48] = hex!(
        "a62ad71d14c5719385c0686f1871430475bf3a00f0aa3f7b8dd99a9abc2160744faf0070725e00b60ad9a026a15b1a8c"
    );

    #[test]
    fn a_point_is_evaluated_without_the_trusted_setup() {
        Precompiles::new(PrecompileRules { fork: SpecId::OSAKA, optimism: None });
        assert_eq!(format!("{:?}", crypto()), "Arithmetic");
        assert!(crypto().verify_kzg_proof(&Z, &Y, &COMMITMENT, &PROOF).is_ok());
        assert!(crypto().verify_kzg_proof(&Y, &Z, &COMMITMENT, &PROOF).is_err());
        assert!(crypto().verify_kzg_proof(&Z, &Y, &PROOF, &COMMITMENT).is_err());
        assert!(crypto().verify_kzg_proof(&Z, &[0xff; 32], &COMMITMENT, &PROOF).is_err());
        // The zero polynomial: commitment and proof are the point at infinity.
        let infinity: [u8; 48] = [&[0xc0], [0_u8; 47].as_slice()].concat().try_into().unwrap();
        assert!(crypto().verify_kzg_proof(&Z, &[0; 32], &infinity, &infinity).is_ok());
        assert!(crypto().verify_kzg_proof(&Z, &Y, &infinity, &infinity).is_err());
    }
}
