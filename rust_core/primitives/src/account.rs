//! Account data that execution uses.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256};

/// Nonce, balance (wei) and code hash. The state trie stores the storage root; it is not part of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    pub nonce: u64,
    pub balance: U256,
    pub code_hash: B256,
}

impl Account {
    /// Returns `true` if the account is empty as defined by EIP-161.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == KECCAK256_EMPTY
    }
}

impl Default for Account {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: KECCAK256_EMPTY }
    }
}
