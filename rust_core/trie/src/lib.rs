#![doc = include_str!("../README.md")]

mod build;
mod bytes;
mod encode;
mod fork;
mod iter;
mod key;
mod list;
mod node;
mod proof;
mod seal;
mod trie;
mod verify;
mod walk;

pub use bytes::{ByteTrie, trie_root};
pub use iter::Iter;
pub use key::{Key, KeyTooLong, MAX_KEY_BYTES};
pub use list::{ListTrie, ordered_trie_root};
pub use node::Value;
pub use trie::{Change, EMPTY_ROOT, Trie};
pub use verify::{ProofError, verify_proof};
