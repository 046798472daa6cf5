//! Trie nodes by path and version.
//!
//! A *place* is where a node hangs: in the account trie its path, nibble by nibble; in a storage trie the account's hash, then the
//! path. The key is the place and the inverted number of the block that wrote it; an empty value says that no node hangs there
//! from then on. A number is below 2^56, so its inverse begins with a byte that is no nibble, and a place is never taken for
//! the beginning of a longer one.
//!
//! A version is needed as long as a block in the proof window, or a later one, has it. Those that are not go when their place is
//! written again, on a page that is written anyway. The lists of changes name the others when their block leaves the window: then
//! the versions of what was removed go, and of what was replaced all but one, since most places are written again some day. So
//! at most one version per node is kept that nobody needs.

pub(crate) mod changes;
pub(crate) mod place;
mod prune;
mod read;
mod rewind;
mod unwind;
mod write;

pub(crate) use prune::leave_window;
pub(crate) use rewind::{nodes_back, rewind};
pub(crate) use unwind::unwind_block;
pub(crate) use write::NodeWrites;
