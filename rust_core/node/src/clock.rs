//! Slots of blocks, and the lead of the chain over the clock.

pub(crate) mod clock_lead;
pub(crate) mod slot;
