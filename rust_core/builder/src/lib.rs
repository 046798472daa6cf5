#![doc = include_str!("../README.md")]

mod block_attributes;
mod body;
mod errors;
mod pending_block;
mod step;

pub use block_attributes::NextBlockAttributes;
pub use body::Body;
pub use errors::BuildError;
pub use pending_block::{ParentBlock, PendingBlock};
pub use step::{BuiltStep, StepTimes};
