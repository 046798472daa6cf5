//! Hashing, RLP, blooms and tries for Python: one file per family.
//!
//! A function whose work may pass about 10 us lets go of the GIL; shorter ones keep it, because giving it back
//! and taking it again costs 70 ns, and 5 ms when another thread is spinning.

pub mod bloom;
pub mod keccak;
pub mod rlp;
pub mod trie;
