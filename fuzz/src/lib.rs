#![doc = include_str!("../README.md")]

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
