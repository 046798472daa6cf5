#![doc = include_str!("../README.md")]

mod allocation;
mod basic;
mod blockchain;
mod case;
mod networks;
mod recorded_chains;
mod rlp;
mod run;
mod source;
mod state;
mod transaction;
mod trie;
pub mod vectors;
mod wide_fee;

pub use case::{Case, Counts};
pub use networks::chain_spec;
pub use recorded_chains::ChainRecording;
pub use run::{RunError, Suite, run, run_lines};
