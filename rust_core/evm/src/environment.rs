//! Conversion of rules, block and transaction to revm's types.

use alloy_consensus::{Header, Transaction as _};
use alloy_eips::eip7702::{RecoveredAuthority, RecoveredAuthorization};
use alloy_primitives::U256;
use foreseal_primitives::{ChainSpec, SpecId, Transaction};
use foreseal_state::{BlockHashes, StateReader};
use revm::{
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::{block::BlobExcessGasAndPrice, either::Either},
};

use crate::{
    evm_instance::EvmInstance,
    execution_state::ExecutionState,
    net_sstore,
    precompiles::{MovedPrecompiles, PrecompileRules},
};

/// Environment in which a request executes.
#[derive(Clone)]
pub struct Environment<'a> {
    pub spec: &'a ChainSpec,
    pub state: &'a dyn StateReader,
    pub hashes: &'a dyn BlockHashes,
    /// Header of the block that contains the request.
    pub header: &'a Header,
    /// Blob base fee in wei per blob gas; replaces the value that follows from the header.
    pub blob_base_fee: Option<u128>,
    pub precompiles: MovedPrecompiles,
}

impl<'a> Environment<'a> {
    /// Creates the environment of the block with this header, without overrides.
    pub fn new(
        spec: &'a ChainSpec,
        state: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        header: &'a Header,
    ) -> Self {
        let precompiles = MovedPrecompiles::default();
        Self { spec, state, hashes, header, blob_base_fee: None, precompiles }
    }

    /// Returns the block environment that the opcodes read.
    pub(crate) fn block(&self) -> BlockEnv {
        let mut env = block(self.spec, self.header);
        if let (Some(blob), Some(price)) = (&mut env.blob_excess_gas_and_price, self.blob_base_fee) {
            blob.blob_gasprice = price;
        }
        env
    }

    /// Creates a machine over the state with an empty cache.
    pub(crate) fn evm_instance<I>(&self, rules: CfgEnv, block: BlockEnv, inspector: I) -> EvmInstance<'a, I> {
        let cache = ExecutionState::new(self.state, self.hashes);
        let mut evm = EvmInstance::with_inspector(
            cache,
            rules,
            block,
            PrecompileRules::new(self.spec, self.header),
            inspector,
        );
        if !self.precompiles.is_empty() {
            evm.move_precompiles(self.precompiles.clone());
        }
        evm
    }
}

/// Returns the rules of the block with this header. The gas cap per transaction (EIP-7825) is the fork's own.
pub fn rules(spec: &ChainSpec, header: &Header) -> CfgEnv {
    let fork = spec.fork(header);
    let mut cfg = CfgEnv::new_with_spec(fork).with_chain_id(spec.chain_id());
    if spec.has_net_sstore_gas(header.number) {
        net_sstore::apply(&mut cfg);
    }
    // Only the gas price of memory bounds its size.
    cfg.memory_limit = u64::MAX;
    if fork.is_enabled_in(SpecId::CANCUN)
        && let Some(params) = spec.blob_params(header.timestamp)
    {
        // Before Osaka (EIP-7594) one transaction may carry all the blobs of a block.
        let max = if fork.is_enabled_in(SpecId::OSAKA) {
            params.max_blobs_per_tx.min(params.max_blob_count)
        } else {
            params.max_blob_count
        };
        cfg.set_max_blobs_per_tx(max);
        cfg.blob_base_fee_update_fraction = u64::try_from(params.update_fraction).ok();
    }
    cfg
}

/// Returns the block environment that the opcodes read.
pub fn block(spec: &ChainSpec, header: &Header) -> BlockEnv {
    let fork = spec.fork(header);
    let blob = header.excess_blob_gas.filter(|_| fork.is_enabled_in(SpecId::CANCUN)).map(|excess| {
        let price = spec.blob_base_fee(header).unwrap_or(1);
        BlobExcessGasAndPrice { excess_blob_gas: excess, blob_gasprice: price }
    });
    BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.unwrap_or(0),
        difficulty: header.difficulty,
        prevrandao: fork.is_enabled_in(SpecId::MERGE).then_some(header.mix_hash),
        blob_excess_gas_and_price: blob,
        slot_num: 0,
    }
}

/// Converts a signed transaction. Sender and authorities are already recovered.
pub fn transaction(transaction: &Transaction) -> TxEnv {
    let envelope = transaction.envelope();
    let authorizations = envelope.authorization_list().unwrap_or_default().iter();
    let authorized = authorizations.zip(transaction.authorities()).map(|(signed, authority)| {
        let authority = authority.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
        Either::Right(RecoveredAuthorization::new_unchecked(signed.inner().clone(), authority))
    });
    TxEnv {
        tx_type: transaction.kind(),
        caller: transaction.sender(),
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.max_fee_per_gas(),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        access_list: envelope.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: envelope.max_priority_fee_per_gas(),
        blob_hashes: envelope.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: envelope.max_fee_per_blob_gas().unwrap_or(0),
        authorization_list: authorized.collect(),
    }
}
