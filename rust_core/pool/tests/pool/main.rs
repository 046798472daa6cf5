//! Tests of the pool through its public interface.
#![cfg(test)]

mod best;
mod blobs;
mod chain;
mod copy;
mod errors;
mod eviction;
mod fees;
mod l1_fees;
mod model;
mod queue;
mod random_operations;
mod rules;
mod runnable;
mod saved;
mod verification;
mod wire;
