//! Repair of a damaged store, and the scrub that finds damage.

pub(crate) mod errors;
pub(crate) mod journal;
pub(crate) mod plan;
pub(crate) mod rebuild;
pub(crate) mod scrubber;
pub(crate) mod source;
pub(crate) mod store_repair;
pub(crate) mod store_swap;
