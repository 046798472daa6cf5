//! Tests of the store through its public interface.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod blocks;
mod damage;
mod log_search;
mod many_logs;
mod mapped_pages;
mod model;
mod open;
mod pages;
mod store_copy;
mod support;
mod verify;
