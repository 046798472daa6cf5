#![doc = include_str!("../README.md")]

mod account;
mod compared_state;
mod partial_state;
mod proof;
mod read;
mod reader;
mod state;
mod state_store;
mod trie_name;

pub use compared_state::ComparedState;
pub use partial_state::{HashedAccount, StateChanges, StorageChanges};
pub use proof::{AccountProof, SlotProof};
pub use reader::{BlockHashes, NoBlockHashes, NoStorage, StateError, StateReader, StorageReader};
pub use state::{State, genesis_diff, genesis_header, withdrawals_root};
pub use state_store::{StateStore, analyze_code};
pub use trie_name::TrieName;
