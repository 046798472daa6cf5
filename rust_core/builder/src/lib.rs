#![doc = include_str!("../README.md")]

mod block_attributes;
mod body;
mod deferred;
mod errors;
mod pending_block;
mod prepared_for_block;
mod remaining_budgets;
mod step;
mod step_limits;

pub use block_attributes::NextBlockAttributes;
pub use body::Body;
pub use deferred::DeferredTransactions;
pub use errors::BuildError;
pub use pending_block::{ParentBlock, PendingBlock};
pub use prepared_for_block::PreparedForBlock;
pub use step::{BuiltStep, StepControl, StepTimes};
pub use step_limits::{BlockShare, StepLimits};
