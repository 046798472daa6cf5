//! Test helpers with the names of anvil and hardhat, which control the chain, its clock and its accounts.
//! Only development nodes serve them.

mod accounts;
mod build_block;
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

/// Method tables of the development methods.
pub const FAMILIES: [&[Method]; 8] = [
    accounts::METHODS,
    build_block::METHODS,
    clock::METHODS,
    mining::METHODS,
    overrides::METHODS,
    positions::METHODS,
    sending::METHODS,
    signing::METHODS,
];

/// Result of a method without a value.
const NULL: &[u8] = b"null";
