//! Tests of execution through the public interface.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access_list;
mod block;
mod call;
mod diffs;
mod executor;
mod memory;
mod optimism;
mod overrides;
mod slot_prediction;
mod system;
