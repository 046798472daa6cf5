//! Helpers of tests, as anvil and hardhat name them: the chain, its clock and its accounts at one's disposal. Served by
//! development nodes alone.

mod accounts;
mod clock;
mod errors;
mod mining;
mod overrides;
mod positions;
mod sending;
mod signing;

pub use accounts::Development;
pub use errors::DevelopmentError;
pub use signing::Key;

use crate::Method;

/// The families of development methods.
pub const FAMILIES: [&[Method]; 7] = [
    accounts::METHODS,
    clock::METHODS,
    mining::METHODS,
    overrides::METHODS,
    positions::METHODS,
    sending::METHODS,
    signing::METHODS,
];

/// The answer of a method that has nothing to say.
const NULL: &[u8] = b"null";
