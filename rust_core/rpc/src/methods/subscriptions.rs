//! Subscriptions and the pages of the feed, with which a client catches up.

use std::sync::Arc;

use alloy_primitives::Bytes;
use foreseal_chain::FeedError;
use foreseal_state::StateError;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    params::{
        argument::{Argument, Kind},
        positional::Params,
        subscription::Cursor,
    },
    streams::subscriptions::{
        catch_up::PageRequest,
        stream::{ARGUMENTS, SUBSCRIBE, SubscribeRequest},
    },
};

pub const METHODS: &[Method] = &[
    Method::inline(SUBSCRIBE, ARGUMENTS, subscribe),
    Method::inline("eth_unsubscribe", &[Argument::required("subscription", Kind::Data)], unsubscribe),
    Method::worker_pool(
        "foreseal_getFlashblocks",
        &[
            Argument::optional("cursor", Kind::Cursor).or("the newest step"),
            Argument::optional("limit", Kind::Quantity).or("as many as may be"),
            Argument::optional("bytes", Kind::Quantity).or("as many as may be"),
        ],
        get_flashblocks,
    ),
];

/// Returns `true` if `eth_subscribe` accepts these parameters, a JSON array.
#[cfg(test)]
pub(crate) fn accepts_params(params: &[u8]) -> bool {
    SubscribeRequest::parse(params, u64::MAX, foreseal_chain::ReadMode::Standard).is_ok()
}

/// Rejects the call: a connection handles this method itself, so a call that arrives here has no connection.
fn subscribe(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    SubscribeRequest::read(params, context.limits.terms)?;
    Err(Error::NeedsConnection(SUBSCRIBE))
}

/// Rejects the call like [`subscribe`].
fn unsubscribe(_: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    params.required::<Bytes>()?;
    Err(Error::NeedsConnection("eth_unsubscribe"))
}

/// Returns the flashblocks after a cursor in the format of the feed.
///
/// If a reorg made the request's view unavailable, the newest view replaces it: it continues from any cursor,
/// and a caller that catches up does not need an older view.
fn get_flashblocks(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let cursor: Option<Cursor> = params.optional()?;
    let (limit, bytes): (Option<u64>, Option<u64>) = (params.optional()?, params.optional()?);
    let limits = context.limits;
    let bytes = bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let page_request = PageRequest {
        cursor,
        limit: limit.unwrap_or(limits.flashblocks).clamp(1, limits.flashblocks.max(1)),
        bytes: bytes.min(limits.flashblock_bytes),
        cache: &context.caches.blocks,
    };
    let mut view = context.view()?.clone();
    loop {
        match page_request.page(&view) {
            Err(FeedError::Read(StateError::ViewGone)) => {
                let newest = context.newest_view()?;
                if Arc::ptr_eq(&newest, &view) {
                    return Err(StateError::ViewGone.into());
                }
                view = newest;
            }
            page => return Ok(page?),
        }
    }
}
