//! Names of the tries of a state, for error messages and reads.

use std::fmt;

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// A trie of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum TrieName {
    Accounts,
    /// Storage trie of the account with this hash of its address.
    Storage(B256),
}

impl fmt::Display for TrieName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts => f.write_str("the account trie"),
            Self::Storage(account) => write!(f, "the storage trie of account hash {account}"),
        }
    }
}
