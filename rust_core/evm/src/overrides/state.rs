//! Accounts that a request sets.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use foreseal_state::{StateError, StateReader};
use foreseal_types::{AccountDiff, ChangedAccount, NewCode, SpecId, StateDiff, keccak};

use crate::precompiles::{MovedPrecompiles, is_precompile};

/// What a request sets of accounts, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// What a request sets of one account; the rest stays. Any entry at the address of a precompiled contract puts an
/// ordinary account in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// Wei.
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Bytes>,
    pub storage: Option<StorageOverride>,
    /// Where the precompiled contract of this address answers instead.
    pub move_precompile_to: Option<Address>,
}

/// What a request sets of an account's storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageOverride {
    /// All of it; other slots are zero.
    Whole(BTreeMap<U256, U256>),
    /// Some slots.
    Slots(BTreeMap<U256, U256>),
}

impl StorageOverride {
    fn slots(&self) -> &BTreeMap<U256, U256> {
        match self {
            Self::Whole(slots) | Self::Slots(slots) => slots,
        }
    }
}

/// Why overrides cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error("account {0} is not a precompile")]
    NotPrecompile(Address),
    #[error("account {0} moves its precompile to itself")]
    MovedToItself(Address),
    /// The address that a precompiled contract is moved to is overridden as well.
    #[error("account {0} is already overridden")]
    TargetOverridden(Address),
    #[error(transparent)]
    State(#[from] StateError),
}

/// Overrides as execution takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overridden {
    /// What they change in the state.
    pub diff: StateDiff,
    /// Which precompiled contracts they move.
    pub precompiles: MovedPrecompiles,
}

impl StateOverrides {
    /// What they mean above `below` under the rules of `fork`.
    ///
    /// # Errors
    /// When something else than a precompiled contract is to be moved, or to an address that is overridden too.
    pub fn resolve(&self, below: &dyn StateReader, fork: SpecId) -> Result<Overridden, OverrideError> {
        let mut result = Overridden { precompiles: self.moved(fork)?, ..Overridden::default() };
        for (address, set) in &self.0 {
            if let Some(diff) = set.diff(below, address)? {
                result.diff.accounts.push(ChangedAccount { address: *address, diff });
            }
        }
        let codes = self.0.values().filter_map(|set| set.code.as_ref()).filter(|code| !code.is_empty());
        result.diff.codes = codes.map(|code| NewCode { hash: keccak(code), code: code.clone() }).collect();
        result.diff.codes.sort_unstable_by_key(|code| code.hash);
        result.diff.codes.dedup_by_key(|code| code.hash);
        Ok(result)
    }

    /// When two are moved to one address, the one of the higher address answers there.
    fn moved(&self, fork: SpecId) -> Result<MovedPrecompiles, OverrideError> {
        let mut moved = MovedPrecompiles::default();
        for (address, set) in &self.0 {
            let precompile = is_precompile(fork, address);
            if let Some(target) = set.move_precompile_to {
                if !precompile {
                    return Err(OverrideError::NotPrecompile(*address));
                }
                if target == *address {
                    return Err(OverrideError::MovedToItself(target));
                }
                if self.0.contains_key(&target) {
                    return Err(OverrideError::TargetOverridden(target));
                }
                moved.insert(target, Some(*address));
            }
            if precompile {
                moved.insert(*address, None);
            }
        }
        Ok(moved)
    }
}

impl AccountOverride {
    /// The account afterwards; `None` when nothing of it is set. Setting anything makes an account, an empty one too.
    fn diff(&self, below: &dyn StateReader, address: &Address) -> Result<Option<AccountDiff>, StateError> {
        let storage = match &self.storage {
            Some(StorageOverride::Slots(slots)) if slots.is_empty() => None,
            other => other.as_ref(),
        };
        if self.balance.is_none() && self.nonce.is_none() && self.code.is_none() && storage.is_none() {
            return Ok(None);
        }
        let mut account = below.account(address)?.unwrap_or_default();
        account.balance = self.balance.unwrap_or(account.balance);
        account.nonce = self.nonce.unwrap_or(account.nonce);
        account.code_hash = self.code.as_ref().map_or(account.code_hash, |code| code_hash(code));
        let wiped = matches!(storage, Some(StorageOverride::Whole(_)));
        let slots = storage.map(StorageOverride::slots).into_iter().flatten();
        let storage = slots.map(|(slot, value)| (*slot, *value)).collect();
        Ok(Some(AccountDiff { account: Some(account), wiped, storage }))
    }
}

fn code_hash(code: &[u8]) -> B256 {
    if code.is_empty() { KECCAK256_EMPTY } else { keccak(code) }
}
