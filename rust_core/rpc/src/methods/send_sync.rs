//! `eth_sendRawTransactionSync` (EIP-7966): returns the receipt as soon as the transaction is pre-confirmed, or sealed
//! if the endpoint shows sealed blocks only.

use std::time::Duration;

use alloy_primitives::Bytes;
use foreseal_chain::ReadMode;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    params::{
        argument::{Argument, Kind},
        positional::Params,
        value::Milliseconds,
    },
    streams::{
        receipt::receipt,
        receipt_wait::ReceiptRequest,
        wait::{AfterSubmission, Reply, submit},
    },
};

pub const METHODS: &[Method] = &[Method::waiting(
    "eth_sendRawTransactionSync",
    &[Argument::required("data", Kind::Data), Argument::optional("timeoutMs", Kind::Milliseconds).or("2000")],
    send_raw_transaction_sync,
)];

/// Default timeout, also used if the caller's value is invalid or too long.
const DEFAULT_TIME: Duration = Duration::from_secs(2);

/// Submits a transaction and waits for its receipt.
///
/// Submitting the same bytes again is not an error: the result is the existing receipt, or the one to come.
fn send_raw_transaction_sync(context: &Context<'_>, params: &mut Params<'_>) -> Result<Reply, Error> {
    let (raw, time): (Bytes, Option<Milliseconds>) = (params.required()?, params.optional()?);
    let node = context.node;
    let submission = node.decode(&raw)?;
    let (hash, nonce) = (submission.hash(), submission.nonce());
    let view = context.newest_view()?;
    if let Some((executed, index)) = view.transaction(&hash)? {
        context.check_receipt_size(&executed.block, index)?;
        if let Some(receipt) = receipt(&view, &executed.block, index) {
            return Ok(Reply::Ready(receipt.into()));
        }
    }
    let timeout = receipt_timeout(context, time);
    let (max_size, mode) = (context.limits.response, context.mode);
    let request = ReceiptRequest { hash, nonce, timeout, max_size, mode };
    submit(node, submission, true, AfterSubmission::Receipt(request))
}

/// Returns the requested timeout if it is valid and does not exceed the limit. Where the receipt comes with the seal,
/// the default is two blocks longer, and the limit is never below it.
fn receipt_timeout(context: &Context<'_>, requested: Option<Milliseconds>) -> Duration {
    let (default, limit) = match context.mode {
        ReadMode::Sealed => {
            let default = DEFAULT_TIME + 2 * context.node.block_interval();
            (default, context.limits.sync_time.max(default))
        }
        ReadMode::Standard | ReadMode::Preconfirmed => (DEFAULT_TIME, context.limits.sync_time),
    };
    let timeout = requested.and_then(|Milliseconds(time)| time).map(Duration::from_millis);
    timeout.filter(|time| *time <= limit).unwrap_or(default.min(limit))
}
