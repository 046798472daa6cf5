//! Test helpers with the names of anvil and hardhat, which control the chain, its clock and its accounts.
//! Only development nodes serve them.

pub mod accounts;
pub mod build_block;
pub mod clock;
mod errors;
mod keys;
pub mod mining;
pub mod overrides;
pub mod positions;
pub mod sending;
pub mod signing;

pub use errors::DevelopmentError;
pub use keys::{Development, Key};
