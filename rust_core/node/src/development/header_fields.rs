//! Fields of the next blocks that a development method sets.

use alloy_primitives::{Address, B256};

use crate::{development::development_control::DevelopmentControl, errors::production_error::ControlError};

/// Lowest gas limit of a block (Yellow Paper, 4.3.4).
const MIN_GAS_LIMIT: u64 = 5_000;

impl DevelopmentControl<'_> {
    /// Sets the fee recipient, from the block being built on.
    pub fn set_beneficiary(&mut self, address: Address) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        self.producer.settings.production.beneficiary = address;
        self.producer.rebuild(self.producer.draft(), slot, |_| {})
    }

    /// Sets the base fee (wei per gas) of the block being built.
    pub fn set_base_fee(&mut self, base_fee: u64) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        self.producer.rebuild(self.producer.draft(), slot, |attributes| attributes.base_fee = Some(base_fee))
    }

    /// Sets the `mixHash` (EIP-4399) of the block being built.
    pub fn set_prev_randao(&mut self, mix_hash: B256) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        self.producer.rebuild(self.producer.draft(), slot, |attributes| attributes.mix_hash = mix_hash)
    }

    /// Sets the gas limit, from the block being built on. Transactions that it no longer fits return to the pool.
    pub fn set_gas_limit(&mut self, gas_limit: u64) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        if gas_limit < MIN_GAS_LIMIT {
            let reason = format!("gasLimit must be at least {MIN_GAS_LIMIT}, got {gas_limit}");
            return Err(ControlError::Refused(reason));
        }
        let before = self.producer.settings.production.gas_limit.replace(gas_limit);
        if let Err(error) = self.producer.settings.check_chain(self.producer.writer.chain.spec()) {
            self.producer.settings.production.gas_limit = before;
            return Err(ControlError::Refused(error.to_string()));
        }
        self.producer
            .rebuild(self.producer.draft(), slot, |attributes| attributes.exact_gas_limit = Some(gas_limit))
    }
}
