//! One file per source.

mod feed;
mod newest_stored_block;
mod rate_limit;
mod running_call;
