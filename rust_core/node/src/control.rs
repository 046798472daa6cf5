//! The sequencer, access to it from other threads, its ticks, and safe and finalized blocks.

pub(crate) mod finality;
pub(crate) mod producer;
pub(crate) mod sequencer;
pub(crate) mod sequencer_access;
