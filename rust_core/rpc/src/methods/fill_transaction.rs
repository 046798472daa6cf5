//! `eth_fillTransaction`, and the fields that `eth_sendTransaction` fills in.

use alloy_consensus::{SignableTransaction, TxType};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Signature, U256};
use foreseal_chain::BlockId;
use foreseal_evm::{CallRequest, EstimateError, NoRecipient};
use foreseal_primitives::{SignedEnvelope, Transaction, Unsigned};

use super::{
    call_args::{CallArgs, call_object},
    calls::TRANSACTION,
    estimates::estimate_at,
    fees::suggested_tip,
    method::Method,
    state::next_nonce,
};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{object::Object, transaction::write_transaction},
    params::{call_object::CallObject, positional::Params},
};

pub const METHODS: &[Method] =
    &[Method::worker_pool("eth_fillTransaction", &[TRANSACTION], fill_transaction).in_heavy_lane()];

/// Returns the transaction with the fields that it lacks, for the caller to sign: its EIP-2718 bytes, and its fields.
///
/// The signature is all zeros, as that of geth (`FillTransaction` in `internal/ethapi/api.go`). viem reads the fields
/// of `tx`, and reads nonce, fees and gas one by one where a node does not have the method. The default sender is the
/// zero address.
fn fill_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let call = call_object(context, params)?;
    let from = call.from.unwrap_or_default();
    let unsigned = fill(context, call, from)?;
    let envelope: SignedEnvelope = unsigned.into_signed(Signature::new(U256::ZERO, U256::ZERO, false)).into();
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.data("raw", envelope.encoded_2718());
    write_transaction(object.name("tx"), &Transaction::new(envelope, from), None);
    object.close();
    Ok(out)
}

/// Fills in missing fields: the next nonce, fees sufficient for the pending block, and gas as estimated on
/// it.
pub fn fill(context: &Context<'_>, call: CallObject, from: Address) -> Result<Unsigned, Error> {
    let kind = transaction_type(&call);
    let nonce = call.nonce.map_or_else(|| next_nonce(context, &from), Ok)?;
    let gas_limit = call.gas.map_or_else(|| gas(context, &call, from), Ok)?;
    let fees = TransactionFees::for_call(context, &call)?;
    let request = CallRequest {
        gas_price: Some(fees.gas_price),
        max_fee_per_gas: Some(fees.max_fee_per_gas),
        max_priority_fee_per_gas: Some(fees.max_priority_fee_per_gas),
        max_fee_per_blob_gas: Some(fees.max_fee_per_blob_gas),
        ..call.into()
    };
    let unsigned = request.unsigned(kind, context.node.spec().chain_id(), nonce, gas_limit);
    unsigned.map_err(|NoRecipient| Error::NoRecipient)
}

/// Returns the EIP-2718 type: the `type` field if present, else the type that the other fields imply, else
/// EIP-1559.
pub fn transaction_type(call: &CallObject) -> TxType {
    call.kind.unwrap_or(match call {
        CallObject { blob_versioned_hashes: Some(_), .. }
        | CallObject { max_fee_per_blob_gas: Some(_), .. } => TxType::Eip4844,
        CallObject { authorization_list: Some(_), .. } => TxType::Eip7702,
        CallObject { gas_price: Some(_), access_list: Some(_), .. } => TxType::Eip2930,
        CallObject { gas_price: Some(_), .. } => TxType::Legacy,
        _ => TxType::Eip1559,
    })
}

/// Returns the estimated gas.
///
/// # Errors
/// The error of a revert is that of a reverted `eth_call`, because neither method is in the specification's
/// table: clients read the reason in its message.
fn gas(context: &Context<'_>, call: &CallObject, from: Address) -> Result<u64, Error> {
    // Without `maxFeePerGas` the request has no fee cap, and a tip alone would exceed it.
    let max_priority_fee_per_gas = call.max_fee_per_gas.and(call.max_priority_fee_per_gas);
    let request = CallObject { from: Some(from), max_priority_fee_per_gas, ..call.clone() }.into();
    // It is executed after the transactions of the open block, on every endpoint.
    let args = CallArgs { block: BlockId::Pending, ..CallArgs::new(request) };
    estimate_at(context, &args).map_err(|error| match error {
        Error::Estimate(EstimateError::Revert { output }) => Error::DetailedRevert(output),
        error => error,
    })
}

/// Fees in wei per gas, and per blob gas.
#[derive(Clone, Copy)]
struct TransactionFees {
    gas_price: u128,
    max_fee_per_gas: u128,
    max_priority_fee_per_gas: u128,
    max_fee_per_blob_gas: u128,
}

impl TransactionFees {
    /// Returns the given fees, or defaults.
    ///
    /// The default tip is the suggested one. The default fee cap is the tip plus twice the base fee, which
    /// suffices for several full blocks. That of blobs is twice their base fee.
    fn for_call(context: &Context<'_>, call: &CallObject) -> Result<Self, Error> {
        let view = context.view()?;
        let header = &view.pending().block.header;
        let base_fee = u128::from(header.base_fee_per_gas.unwrap_or(0));
        let blob_base_fee = view.spec().blob_base_fee(header).unwrap_or(0);
        let tip = suggested_tip(context, view);
        let max_fee = call.max_fee_per_gas.unwrap_or(u128::MAX);
        let max_priority_fee_per_gas = call.max_priority_fee_per_gas.unwrap_or(tip.min(max_fee));
        let enough = (2 * base_fee).saturating_add(max_priority_fee_per_gas);
        Ok(Self {
            gas_price: call.gas_price.unwrap_or_else(|| (2 * base_fee).saturating_add(tip)),
            max_fee_per_gas: call.max_fee_per_gas.unwrap_or(enough),
            max_priority_fee_per_gas,
            max_fee_per_blob_gas: call.max_fee_per_blob_gas.unwrap_or(blob_base_fee.saturating_mul(2)),
        })
    }
}
