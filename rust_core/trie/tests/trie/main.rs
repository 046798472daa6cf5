//! Tests of the trie through its public interface.
#![cfg(test)]

mod alloy;
mod bytes;
mod list;
mod partial;
mod proof;
mod reference;
mod trie;
mod verify;
mod versions;
