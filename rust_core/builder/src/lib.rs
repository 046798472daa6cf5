#![doc = include_str!("../README.md")]

mod body;
mod errors;
mod open_block;
mod opening;
mod step;

pub use body::Body;
pub use errors::BuildError;
pub use open_block::{OpenBlock, Parent};
pub use opening::Opening;
pub use step::{StepTimes, Stepped};
