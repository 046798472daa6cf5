#![doc = include_str!("../README.md")]

mod build;
mod bytes;
mod change;
mod changes;
mod decode;
mod encode;
mod fork;
mod iter;
mod key;
mod list;
mod load;
mod lookup;
mod node;
mod partial;
mod proof;
mod seal;
mod source;
mod trie;
mod unload;
mod verify;
mod walk;

pub use bytes::{ByteTrie, trie_root};
pub use change::Change;
pub use changes::{Changes, NodeChange, NodeWrite};
pub use key::{Key, KeyTooLong, MAX_KEY_BYTES};
pub use list::{ListTrie, ordered_trie_root};
pub use load::RequiredKey;
pub use lookup::Lookup;
pub use node::Value;
pub use source::{InMemory, LoadError, NodePath, NodeSource};
pub use trie::{EMPTY_ROOT, Trie};
pub use verify::{ProofError, verify_proof};
