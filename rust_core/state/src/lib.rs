#![doc = include_str!("../README.md")]

mod account;
mod proof;
mod reader;
mod snapshot;

pub use proof::{AccountProof, SlotProof};
pub use reader::{BlockHashes, NoStorage, StateError, StateReader, StorageReader};
pub use snapshot::State;
