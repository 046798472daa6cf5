//! Live streams: the subscriptions of `eth_subscribe`, and catching up with the feed.

mod catch_up;
mod channels;
mod deferred_messages;
mod flashblock;
mod flashblock_parts;
mod notification;
mod pump;
mod render;
mod stream;

use alloy_primitives::Bytes;

use crate::{
    argument::{Argument, Kind},
    context::Context,
    errors::Error,
    method::Method,
    params::Params,
};

use channels::{ActiveChannels, Channel};
use flashblock_parts::{FlashblockParts, PART_SIZE, PartStart};
use render::{Chunk, ChunkSize, ChunkStart, Messages, Rendering};
use stream::{ARGUMENTS, SUBSCRIBE, Stream, SubscribeRequest};

#[cfg(test)]
pub(crate) use channels::{AttemptProgress, SubscriptionAttempt};
pub use channels::{Subscription, Subscriptions};
pub use deferred_messages::{DeferredChunk, DeferredMessages};
pub use notification::Notification;
pub use pump::{DeliveryPump, Sink};

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
        catch_up::get_flashblocks,
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
