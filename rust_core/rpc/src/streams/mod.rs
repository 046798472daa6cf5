//! Progress of the chain for callers who follow it: subscriptions, filters, pages of the feed, and waits for a result.

pub mod filters;
pub mod log_cursor;
pub mod receipt;
pub mod receipt_wait;
pub mod subscriptions;
pub mod wait;
