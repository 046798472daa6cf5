//! Tests of the state through its public interface.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod double;
mod partial_state;
mod proof;
mod state;
