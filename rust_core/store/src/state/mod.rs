//! Accounts, slots and code by version.
//!
//! The key of a value ends with the inverted number of the block that wrote it, so that newer versions come
//! first. The value as of block `at` is the first entry at or after `(…, !at)`: one seek for any `at`.
//!
//! If an account is destroyed, or created over, its storage is not deleted slot by slot. The account gets a
//! new incarnation instead, which is part of the slots' keys.

mod changes;
pub(crate) mod keys;
mod read;
mod state_cache;
mod unwind;
pub(crate) mod value;
mod write;

pub(crate) use read::Version;
pub(crate) use state_cache::{StateCache, Values};
pub(crate) use unwind::unwind_block;
pub(crate) use write::StateWrites;
