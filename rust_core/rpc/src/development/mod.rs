//! Helpers of tests, as anvil and hardhat name them: the chain, its clock and its accounts at one's disposal. Served by
//! development nodes alone.

mod accounts;
mod clock;
mod errors;
mod mining;
mod overrides;
mod positions;

pub use accounts::Development;
pub use errors::DevelopmentError;

use crate::Method;

/// The families of development methods.
pub const FAMILIES: [&[Method]; 5] =
    [accounts::METHODS, clock::METHODS, mining::METHODS, overrides::METHODS, positions::METHODS];

/// The answer of a method that has nothing to say.
const NULL: &[u8] = b"null";
