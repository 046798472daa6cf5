//! `eth_sendRawTransactionSync` (EIP-7966): returns the receipt as soon as the transaction is pre-confirmed.

use std::time::Duration;

use alloy_primitives::Bytes;

use crate::{
    Argument, Context, Error, Kind, Method, Reply,
    params::{Milliseconds, Params},
    receipt::receipt,
    receipt_wait::ReceiptRequest,
    wait::{AfterSubmission, submit},
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
    if let Some((found, index)) = view.transaction(&hash)? {
        context.check_receipt_size(&found.block, index)?;
        if let Some(receipt) = receipt(&view, &found.block, index) {
            return Ok(Reply::Ready(receipt.into()));
        }
    }
    let timeout = receipt_timeout(time, context.limits.sync_time);
    let request = ReceiptRequest { hash, nonce, timeout, max_size: context.limits.response };
    submit(node, submission, true, AfterSubmission::Receipt(request))
}

/// Returns the requested timeout if it is valid and does not exceed the limit.
fn receipt_timeout(requested: Option<Milliseconds>, limit: Duration) -> Duration {
    let timeout = requested.and_then(|Milliseconds(time)| time).map(Duration::from_millis);
    timeout.filter(|time| *time <= limit).unwrap_or(DEFAULT_TIME.min(limit))
}
