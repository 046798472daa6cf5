//! Tests of the builder over a pool.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod limits;
mod opening;
mod records;
