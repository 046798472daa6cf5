//! Test helpers with the names of anvil and hardhat, which control the chain, its clock and its accounts.
//! Only development nodes serve them.

pub mod accounts;
pub mod build_block;
pub mod clock;
pub mod mining;
pub mod node_info;
pub mod overrides;
pub mod send_transaction;
pub mod signing;
pub mod snapshots_and_reorgs;
pub mod state_dump;
