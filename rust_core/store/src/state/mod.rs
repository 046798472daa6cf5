//! Accounts, slots and code by version.
//!
//! The key of a value ends with the inverted number of the block that wrote it, so that newer versions come first: the one
//! as of block `at` is the first at or after `(…, !at)`, one seek whatever `at` is.
//!
//! The storage of an account that is destroyed, or created over, is not deleted, slot by slot: from then on the account has another
//! incarnation, which is a part of the slots' keys.

mod changes;
pub(crate) mod keys;
mod read;
mod recent;
mod store;
mod unwind;
pub(crate) mod value;
mod write;

use read::Version;
pub(crate) use recent::Recent;
use recent::Values;
pub(crate) use unwind::unwind_block;
pub(crate) use write::StateWrites;
