//! Stateless checks of a transaction against the block that is being built.

use alloy_consensus::{Header, Transaction as _};
use foreseal_primitives::{ChainSpec, DEPOSIT_TYPE, SignedEnvelope, SpecId, TRANSACTION_GAS_CAP};
use revm::{context_interface::cfg::GasParams, primitives::eip3860::MAX_INITCODE_SIZE};

use crate::{config::PoolConfig, error::PoolError, fees::Fees, transaction::Sidecar};

/// Parameters of one chain, fork and block that admission depends on. Computed once per block.
#[derive(Clone, Debug)]
pub struct Rules {
    chain_id: u64,
    fork: SpecId,
    block_gas_limit: u64,
    max_blobs: u64,
    gas: GasParams,
    max_transaction_bytes: usize,
    max_blob_transaction_bytes: usize,
    min_tip: u128,
    max_gas: Option<u64>,
    is_optimism: bool,
}

impl Rules {
    /// Derives the rules for a block with `header`.
    pub fn new(config: &PoolConfig, spec: &ChainSpec, header: &Header) -> Self {
        let fork = spec.fork(header);
        let blobs = spec.blob_params(header.timestamp);
        Self {
            chain_id: spec.chain_id(),
            fork,
            block_gas_limit: header.gas_limit,
            max_blobs: blobs.map_or(0, |blobs| blobs.max_blobs_per_tx.min(blobs.max_blob_count)),
            gas: GasParams::new_spec(fork),
            max_transaction_bytes: config.max_transaction_bytes,
            max_blob_transaction_bytes: config.max_blob_transaction_bytes,
            min_tip: config.min_tip,
            max_gas: config.max_gas,
            is_optimism: spec.optimism().is_some(),
        }
    }

    /// Returns the rules without the pool's minimum tip and its maximum gas.
    #[must_use]
    pub fn without_policy(&self) -> Self {
        Self { min_tip: 0, max_gas: None, ..self.clone() }
    }

    /// Returns the maximum size of a submission of an EIP-2718 type (bytes).
    pub(crate) fn max_bytes(&self, kind: u8) -> usize {
        if kind == BLOB { self.max_blob_transaction_bytes } else { self.max_transaction_bytes }
    }

    /// Returns `true` on an OP chain.
    pub(crate) fn is_optimism(&self) -> bool {
        self.is_optimism
    }

    /// Checks that an OP chain accepts submissions of an EIP-2718 type. Any other chain decodes them first.
    pub(crate) fn check_submitted(&self, kind: u8) -> Result<(), PoolError> {
        match kind {
            BLOB if self.is_optimism => Err(PoolError::BlobsUnsupported),
            DEPOSIT_TYPE if self.is_optimism => Err(PoolError::DepositSubmitted),
            _ => Ok(()),
        }
    }

    /// Returns `true` for a sidecar of version 0 since Osaka, from which a submission gets its cell proofs (EIP-7594).
    pub(crate) fn needs_cell_proofs(&self, sidecar: &Sidecar) -> bool {
        self.active(SpecId::OSAKA) && sidecar.is_eip4844()
    }

    /// Checks that a sidecar has the version that the fork requires: 1, with cell proofs, since Osaka (EIP-7594); 0
    /// before.
    pub(crate) fn check_sidecar_version(&self, sidecar: &Sidecar) -> Result<(), PoolError> {
        let want = u8::from(self.active(SpecId::OSAKA));
        if u8::from(sidecar.is_eip7594()) == want { Ok(()) } else { Err(PoolError::SidecarVersion { want }) }
    }

    /// Checks the transaction against the pool's own rules. Blocks may contain transactions that break them.
    pub(crate) fn check_policy(&self, envelope: &SignedEnvelope) -> Result<(), PoolError> {
        let (tip, min_tip) = (Fees::from_envelope(envelope).tip, self.min_tip);
        if tip < min_tip {
            return Err(PoolError::Underpriced { tip, min_tip });
        }
        let have = envelope.gas_limit();
        match self.max_gas {
            Some(cap) if have > cap => Err(PoolError::GasCap { have, cap }),
            _ => Ok(()),
        }
    }

    /// Checks the fields of the transaction.
    pub(crate) fn check(&self, envelope: &SignedEnvelope) -> Result<(), PoolError> {
        self.check_submitted(envelope.tx_type() as u8)?;
        self.check_kind(envelope)?;
        // Legacy transactions without EIP-155 name no chain and stay valid on every chain.
        if let Some(have) = envelope.chain_id().filter(|id| *id != self.chain_id) {
            return Err(PoolError::ChainId { have, want: self.chain_id });
        }
        if envelope.nonce() == u64::MAX {
            return Err(PoolError::NonceMax);
        }
        let fees = Fees::from_envelope(envelope);
        if fees.tip > fees.max_fee {
            return Err(PoolError::TipAboveMaxFee { tip: fees.tip, max_fee: fees.max_fee });
        }
        self.check_gas(envelope)
    }

    fn check_kind(&self, envelope: &SignedEnvelope) -> Result<(), PoolError> {
        let since = match envelope {
            SignedEnvelope::Legacy(_) => SpecId::FRONTIER,
            SignedEnvelope::Eip2930(_) => SpecId::BERLIN,
            SignedEnvelope::Eip1559(_) => SpecId::LONDON,
            SignedEnvelope::Eip4844(_) => SpecId::CANCUN,
            SignedEnvelope::Eip7702(_) => SpecId::PRAGUE,
        };
        if !self.active(since) {
            return Err(PoolError::TypeNotActive { kind: envelope.tx_type() as u8 });
        }
        if envelope.authorization_list().is_some_and(<[_]>::is_empty) {
            return Err(PoolError::EmptyAuthorizationList);
        }
        match envelope.blob_versioned_hashes() {
            None => Ok(()),
            Some([]) => Err(PoolError::NoBlobs),
            Some(hashes) => {
                let have = hashes.len() as u64;
                let limit = self.max_blobs;
                if have > limit { Err(PoolError::TooManyBlobs { have, limit }) } else { Ok(()) }
            }
        }
    }

    fn check_gas(&self, envelope: &SignedEnvelope) -> Result<(), PoolError> {
        let input = envelope.input();
        let create = envelope.is_create();
        if create && self.active(SpecId::SHANGHAI) && input.len() > MAX_INITCODE_SIZE {
            return Err(PoolError::InitCodeTooLarge { size: input.len(), limit: MAX_INITCODE_SIZE });
        }
        let have = envelope.gas_limit();
        if self.active(SpecId::OSAKA) && have > TRANSACTION_GAS_CAP {
            return Err(PoolError::GasCap { have, cap: TRANSACTION_GAS_CAP });
        }
        if have > self.block_gas_limit {
            return Err(PoolError::BlockGasLimit { have, limit: self.block_gas_limit });
        }
        let (accounts, slots) = envelope.access_list().map_or((0, 0), |list| {
            (list.len() as u64, list.iter().map(|item| item.storage_keys.len() as u64).sum())
        });
        let authorizations = envelope.authorization_list().map_or(0, <[_]>::len) as u64;
        let gas = self.gas.initial_tx_gas(input, create, accounts, slots, authorizations, None);
        if have < gas.initial_regular_gas {
            return Err(PoolError::IntrinsicGas { have, want: gas.initial_regular_gas });
        }
        if self.active(SpecId::PRAGUE) && have < gas.floor_gas {
            return Err(PoolError::FloorGas { have, want: gas.floor_gas });
        }
        Ok(())
    }

    fn active(&self, fork: SpecId) -> bool {
        self.fork.is_enabled_in(fork)
    }
}

/// Type byte of EIP-4844 transactions.
pub(crate) const BLOB: u8 = 3;
