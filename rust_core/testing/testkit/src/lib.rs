//! Test support: signing keys, single-purpose contracts, a genesis that holds them, random workloads, and
//! waiting.

mod assembler;
mod contracts;
mod genesis;
mod logs;
mod values;
mod wait_for;
mod wallet;
mod workload;

pub use assembler::{assemble, deploy_code};
pub use contracts::{Contract, erc20_balance_slot, erc20_transfer};
pub use genesis::{optimism_genesis, test_genesis};
pub use logs::{LogChain, numbered_contract, numbered_topic, receipt_of_size, skewed_log};
pub use values::counting;
pub use wait_for::{MAX_WAIT, wait_for};
pub use wallet::{Fees, Wallet};
pub use workload::{TransactionKinds, Workload};
