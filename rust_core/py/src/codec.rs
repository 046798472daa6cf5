//! Hashing, RLP, signatures, blooms and tries for Python: one file per family.
//!
//! A function whose work may exceed about 10 us releases the GIL. Shorter ones hold it: releasing and
//! reacquiring it costs 70 ns, and 5 ms when another thread is spinning.

pub mod bloom;
pub mod keccak;
pub mod rlp;
pub mod signatures;
pub mod trie;
