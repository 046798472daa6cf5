//! `eth_sendTransaction`: fills in missing fields and signs with a key of the node.

use alloy_consensus::{SignableTransaction, TxType};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::Address;
use foreseal_chain::BlockId;
use foreseal_evm::{CallRequest, EstimateError, NoRecipient, estimate};
use foreseal_primitives::{SignedEnvelope, Transaction, Unsigned};

use crate::{
    Access, Argument, Context, Error, Kind, Method,
    call_args::{CallArgs, call_object},
    fees::suggested_tip,
    json::write_data,
    params::{CallObject, Params},
    state::next_nonce,
};

use super::DevelopmentError;

pub const METHODS: &[Method] = &[Method::worker_pool(
    "eth_sendTransaction",
    &[Argument::required("transaction", Kind::Call)],
    send_transaction,
)
.with_access(Access::Development)];

/// Signs the transaction with the sender's key, or sends it unsigned for an impersonated account.
///
/// The default sender is the first account.
fn send_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let call = call_object(context, params)?;
    let first = || context.development.keys().first().map(|key| key.address);
    let from = call.from.or_else(first).ok_or(DevelopmentError::NoAccounts)?;
    let key = context.development.key(&from);
    if key.is_none() && !context.development.impersonates(&from) {
        return Err(DevelopmentError::UnknownAccount(from).into());
    }
    // Held until the transaction is pooled; otherwise two concurrent calls would get the same nonce.
    let _turn = context.development.sending();
    let unsigned = fill(context, call, from)?;
    let hash = match key {
        Some(key) => {
            let signature = key.sign(unsigned.signature_hash())?;
            let envelope: SignedEnvelope = unsigned.into_signed(signature).into();
            context.node.submit(&envelope.encoded_2718())?
        }
        None => context.node.submit_impersonated(Transaction::impersonated(unsigned, from))?,
    };
    let mut out = Vec::new();
    write_data(&mut out, hash.as_slice());
    Ok(out)
}

/// Fills in missing fields: the next nonce, fees sufficient for the pending block, and gas as estimated on
/// it.
fn fill(context: &Context<'_>, call: CallObject, from: Address) -> Result<Unsigned, Error> {
    let kind = kind(&call)?;
    let nonce = call.nonce.map_or_else(|| next_nonce(context, &from), Ok)?;
    let gas_limit = call.gas.map_or_else(|| gas(context, &call, from), Ok)?;
    let fees = TransactionFees::for_call(context, &call)?;
    let TransactionFees { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = fees;
    let request = CallRequest {
        gas_price: Some(gas_price),
        max_fee_per_gas: Some(max_fee_per_gas),
        max_priority_fee_per_gas: Some(max_priority_fee_per_gas),
        ..call.into()
    };
    let unsigned = request.unsigned(kind, context.node.spec().chain_id(), nonce, gas_limit);
    Ok(unsigned.map_err(|NoRecipient| DevelopmentError::NoRecipient)?)
}

/// Returns the EIP-2718 type: the `type` field if present, else the type that the other fields imply, else
/// EIP-1559.
fn kind(call: &CallObject) -> Result<TxType, Error> {
    let kind = call.kind.unwrap_or(match call {
        CallObject { blob_versioned_hashes: Some(_), .. }
        | CallObject { max_fee_per_blob_gas: Some(_), .. } => TxType::Eip4844,
        CallObject { authorization_list: Some(_), .. } => TxType::Eip7702,
        CallObject { gas_price: Some(_), access_list: Some(_), .. } => TxType::Eip2930,
        CallObject { gas_price: Some(_), .. } => TxType::Legacy,
        _ => TxType::Eip1559,
    });
    if kind == TxType::Eip4844 { Err(DevelopmentError::Blobs.into()) } else { Ok(kind) }
}

/// Returns the estimated gas.
///
/// # Errors
/// The error of a revert is that of a reverted `eth_call`, because the method is not in the specification's
/// table: clients read the reason in its message.
fn gas(context: &Context<'_>, call: &CallObject, from: Address) -> Result<u64, Error> {
    // Without `maxFeePerGas` the request has no fee cap, and a tip alone would exceed it.
    let max_priority_fee_per_gas = call.max_fee_per_gas.and(call.max_priority_fee_per_gas);
    let request = CallObject { from: Some(from), max_priority_fee_per_gas, ..call.clone() }.into();
    // It is executed after the transactions of the open block, on every endpoint.
    let args = CallArgs { block: BlockId::Pending, ..CallArgs::new(request) };
    let limits = context.limits.call();
    let estimated = args.execute(context, |environment, request| estimate(environment, request, limits));
    estimated.map_err(|error| match error {
        Error::Estimate(EstimateError::Revert { output }) => Error::DetailedRevert(output),
        error => error,
    })
}

/// Fees in wei per gas.
#[derive(Clone, Copy)]
struct TransactionFees {
    gas_price: u128,
    max_fee_per_gas: u128,
    max_priority_fee_per_gas: u128,
}

impl TransactionFees {
    /// Returns the given fees, or defaults.
    ///
    /// The default tip is the suggested one. The default fee cap is the tip plus twice the base fee, which
    /// suffices for several full blocks.
    fn for_call(context: &Context<'_>, call: &CallObject) -> Result<Self, Error> {
        let view = context.view()?;
        let base_fee = u128::from(view.pending().block.header.base_fee_per_gas.unwrap_or(0));
        let tip = suggested_tip(context, view);
        let max_fee = call.max_fee_per_gas.unwrap_or(u128::MAX);
        let max_priority_fee_per_gas = call.max_priority_fee_per_gas.unwrap_or(tip.min(max_fee));
        let enough = (2 * base_fee).saturating_add(max_priority_fee_per_gas);
        Ok(Self {
            gas_price: call.gas_price.unwrap_or_else(|| (2 * base_fee).saturating_add(tip)),
            max_fee_per_gas: call.max_fee_per_gas.unwrap_or(enough),
            max_priority_fee_per_gas,
        })
    }
}
