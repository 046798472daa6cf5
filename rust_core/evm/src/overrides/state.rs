//! Accounts that a request overrides.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use foreseal_keccak::keccak;
use foreseal_primitives::{AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::{StateError, StateReader};

use crate::precompiles::{MovedPrecompiles, PrecompileRules};

/// Account overrides of a request, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// Overrides of one account; unset fields keep their values. Any entry at the address of a precompiled
/// contract replaces it with an ordinary account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// Balance in wei.
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Bytes>,
    pub storage: Option<StorageOverride>,
    /// Address to which the precompiled contract of this address moves.
    pub move_precompile_to: Option<Address>,
}

/// Overrides of an account's storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageOverride {
    /// Replaces all storage; other slots are zero.
    Full(BTreeMap<U256, U256>),
    /// Replaces only these slots.
    Slots(BTreeMap<U256, U256>),
}

impl StorageOverride {
    fn slots(&self) -> &BTreeMap<U256, U256> {
        match self {
            Self::Full(slots) | Self::Slots(slots) => slots,
        }
    }
}

/// Reasons why overrides are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error("account {0} is not a precompile")]
    NotPrecompile(Address),
    #[error("account {0} moves its precompile to itself")]
    MovedToItself(Address),
    /// The target address of a moved precompiled contract is overridden too.
    #[error("account {0} is already overridden")]
    TargetOverridden(Address),
    #[error(transparent)]
    State(#[from] StateError),
}

/// Overrides in the form that execution uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedOverrides {
    /// State changes of the overrides.
    pub diff: StateDiff,
    /// Precompiled contracts that the overrides move.
    pub precompiles: MovedPrecompiles,
}

impl StateOverrides {
    /// Resolves the overrides on top of `below`, for a block with the precompiled contracts of `rules`.
    ///
    /// # Errors
    /// Returns an error if an address to move is not a precompiled contract, or if the target address is
    /// overridden too.
    pub fn resolve(
        &self,
        below: &dyn StateReader,
        rules: PrecompileRules,
    ) -> Result<ResolvedOverrides, OverrideError> {
        let mut result =
            ResolvedOverrides { precompiles: self.moved(rules)?, ..ResolvedOverrides::default() };
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

    /// Returns the moved precompiled contracts. If two have the same target, the one with the higher address
    /// wins.
    fn moved(&self, rules: PrecompileRules) -> Result<MovedPrecompiles, OverrideError> {
        let mut moved = MovedPrecompiles::default();
        for (address, set) in &self.0 {
            let precompile = rules.contains(address);
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
    /// Returns the changed account; `None` if no field is set. Any set field creates the account, even an
    /// empty one.
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
        let wiped = matches!(storage, Some(StorageOverride::Full(_)));
        let slots = storage.map(StorageOverride::slots).into_iter().flatten();
        let storage = slots.map(|(slot, value)| (*slot, *value)).collect();
        Ok(Some(AccountDiff { account: Some(account), wiped, storage }))
    }
}

fn code_hash(code: &[u8]) -> B256 {
    if code.is_empty() { KECCAK256_EMPTY } else { keccak(code) }
}
