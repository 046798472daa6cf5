#![doc = include_str!("../README.md")]

mod account;
mod proof;
mod read;
mod reader;
mod snapshot;
mod store;
mod stored;
mod trie_name;

pub use proof::{AccountProof, SlotProof};
pub use reader::{BlockHashes, NoStorage, StateError, StateReader, StorageReader};
pub use snapshot::{State, genesis_diff};
pub use store::{StateStore, analysed};
pub use stored::{HashedAccount, StateChanges, StorageChanges};
pub use trie_name::TrieName;
