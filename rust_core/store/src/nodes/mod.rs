//! Trie nodes by path and version.
//!
//! The location of a node (`location` in the code) is its path in the account trie, one byte per nibble; in a
//! storage trie it is the account's hash followed by the path. The key is the location and the inverted
//! number of the block that wrote the node. An empty value means that no node is at the location from that
//! block on. A block number is below 2^56, so its inverse begins with a byte that is not a nibble. A location
//! is therefore never mistaken for the prefix of a longer one.
//!
//! A version is needed as long as a block in the proof window, or a later block, uses it. Writing a location
//! deletes its unneeded versions, on a page that is written anyway. When a block leaves the window, its list
//! of changes names the others: all versions of removed nodes are deleted, and all but one of replaced nodes,
//! because most locations are written again eventually. So at most one unneeded version per node remains.

pub(crate) mod changes;
pub(crate) mod node_key;
mod prune;
mod read;
mod replace;
mod unwind;
mod write;

pub(crate) use prune::prune_proof_window;
pub(crate) use replace::replace_versions;
pub(crate) use unwind::unwind_block;
pub(crate) use write::NodeWrites;
