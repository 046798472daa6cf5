//! Tests of the trie through its public interface.
#![cfg(test)]

mod alloy;
mod byte_trie;
mod list_trie;
mod partial;
mod proof;
mod reference;
mod trie;
mod verify;
mod versions;
