//! Tests of the journal through its public interface.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod crash;
mod damage;
mod end_mark;
mod journal;
mod pinned_segments;
mod plan;
mod raw_append;
mod repair;
mod show;
