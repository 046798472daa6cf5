#![doc = include_str!("../README.md")]
#![allow(
    clippy::needless_for_each,
    clippy::match_same_arms,
    reason = "an oracle reads as the rule that it states"
)]

mod chain;
pub mod corpus;
mod heap;
mod mutate;
pub mod seeds;
mod target;
mod targets;

pub use chain::TestChain;
pub use mutate::Mutator;
pub use target::{Memory, Target};
pub use targets::{TARGETS, target};
