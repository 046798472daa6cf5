//! Live streams: the subscriptions of `eth_subscribe`, and catching up with the feed.

pub mod catch_up;
pub mod channels;
pub mod deferred_messages;
pub mod flashblock;
pub mod flashblock_parts;
pub mod notification;
pub mod pump;
pub mod render;
pub mod stream;
