//! The transaction that a simulated call stands for; its signature is zero.

use alloy_consensus::{Signed, TxEip1559, TxEip4844, TxEip7702, TxLegacy};
use alloy_primitives::{Address, Signature, TxKind, U256};
use foreseal_types::{Envelope, Transaction};

use crate::{CallRequest, Rejected};

/// Legacy when it has a `gasPrice`, else of the type that its fields need, EIP-1559 at least.
pub fn unsigned(
    request: &CallRequest,
    chain_id: u64,
    nonce: u64,
    gas_limit: u64,
) -> Result<Transaction, Rejected> {
    let (value, input) = (request.value, request.input.clone());
    let access_list = request.access_list.clone();
    let max_fee_per_gas = request.max_fee_per_gas.unwrap_or(0);
    let max_priority_fee_per_gas = request.max_priority_fee_per_gas.unwrap_or(0);
    let to = request.to.map_or(TxKind::Create, TxKind::Call);
    let signature = Signature::new(U256::ZERO, U256::ZERO, false);
    let envelope: Envelope = if let Some(gas_price) = request.gas_price {
        let chain_id = Some(chain_id);
        let legacy = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
        Signed::new_unhashed(legacy, signature).into()
    } else if !request.authorizations.is_empty() {
        let (to, authorization_list) = (target(request)?, request.authorizations.clone());
        let transaction = TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list,
            authorization_list,
            input,
        };
        Signed::new_unhashed(transaction, signature).into()
    } else if !request.blob_hashes.is_empty() {
        let transaction = TxEip4844 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: target(request)?,
            value,
            access_list,
            blob_versioned_hashes: request.blob_hashes.clone(),
            max_fee_per_blob_gas: request.max_fee_per_blob_gas.unwrap_or(0),
            input,
        };
        Signed::new_unhashed(transaction, signature).into()
    } else {
        let transaction = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list,
            input,
        };
        Signed::new_unhashed(transaction, signature).into()
    };
    Ok(Transaction::new(envelope, request.sender()))
}

fn target(request: &CallRequest) -> Result<Address, Rejected> {
    let missing = || Rejected::Other("a transaction of type 3 or 4 cannot create a contract".to_owned());
    request.to.ok_or_else(missing)
}
