//! The sequencer and what changes its chain: ticks, payloads of a driver, development methods, and operators.

pub(crate) mod finality;
pub(crate) mod producer;
pub(crate) mod sequencer;
pub(crate) mod sequencer_access;
