#![doc = include_str!("../README.md")]

mod byte_trie;
mod change;
mod changes;
mod decode;
mod encode;
mod evict;
mod get;
mod hash_nodes;
mod iter;
mod key;
mod list_trie;
mod load;
mod lookup;
mod node;
mod parallel_update;
mod partial;
mod proof;
mod source;
mod trie;
mod update_plan;
mod verify;

pub use byte_trie::{ByteTrie, trie_root};
pub use change::Change;
pub use changes::{NodeChange, NodeChangeKind, TrieDiff};
pub use key::{Key, KeyTooLong, MAX_KEY_BYTES};
pub use list_trie::{ListTrie, ordered_trie_root};
pub use load::RequiredKey;
pub use lookup::Lookup;
pub use node::Value;
pub use source::{InMemory, LoadError, NodePath, NodeSource};
pub use trie::{EMPTY_ROOT, Trie};
pub use verify::{ProofError, verify_proof};
