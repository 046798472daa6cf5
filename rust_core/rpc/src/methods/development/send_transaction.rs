//! `eth_sendTransaction`: fills in missing fields and signs with a key of the node.

use alloy_consensus::{SignableTransaction, TxType};
use alloy_eips::eip2718::Encodable2718;
use foreseal_primitives::{SignedEnvelope, Transaction};

use crate::{
    context::call_context::Context,
    errors::{development_error::DevelopmentError, error::Error},
    json::hex::write_data,
    methods::{
        call_args::call_object,
        fill_transaction::{fill, transaction_type},
        method::{Access, Method},
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

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
    if transaction_type(&call) == TxType::Eip4844 {
        return Err(DevelopmentError::Blobs.into());
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
