//! Tests of the chain's types through their public interface.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bytes;
mod chain;
mod diff;
mod impersonated;
mod log_filter;
mod optimism;
