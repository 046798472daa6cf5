//! Conversion of a simulated call to a transaction with a zero signature.

use alloy_consensus::{SignableTransaction, TxType};
use alloy_primitives::{Signature, U256};
use foreseal_primitives::{SignedEnvelope, Transaction};

use crate::{call::CallRequest, error::RejectedTransaction};

/// Builds the transaction, of the type that its fields require. A call with only a `gasPrice` is legacy; without
/// it, EIP-1559. A `gasPrice` is both fee and tip of the types that have these.
pub fn simulated(
    request: &CallRequest,
    chain_id: u64,
    nonce: u64,
    gas_limit: u64,
) -> Result<Transaction, RejectedTransaction> {
    let kind = if !request.authorizations.is_empty() {
        TxType::Eip7702
    } else if !request.blob_hashes.is_empty() {
        TxType::Eip4844
    } else if request.gas_price.is_none() {
        TxType::Eip1559
    } else if request.access_list.is_empty() {
        TxType::Legacy
    } else {
        TxType::Eip2930
    };
    let unsigned = request.unsigned(kind, chain_id, nonce, gas_limit);
    let unsigned = unsigned.map_err(|error| RejectedTransaction::Other(error.to_string()))?;
    let envelope = unsigned.into_signed(Signature::new(U256::ZERO, U256::ZERO, false));
    Ok(Transaction::new(SignedEnvelope::from(envelope), request.sender()))
}
