//! Account allocations in the format of the test vectors.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256, keccak256};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::State;
use serde::Deserialize;

/// Accounts by address.
pub type Allocation = BTreeMap<Address, AllocatedAccount>;

#[derive(Deserialize)]
pub struct AllocatedAccount {
    balance: U256,
    nonce: U256,
    code: Bytes,
    storage: BTreeMap<U256, U256>,
}

/// Builds the state that an allocation describes.
pub fn state(allocation: &Allocation) -> Result<State, String> {
    let mut diff = StateDiff::default();
    for (address, account) in allocation {
        let code_hash = keccak256(&account.code);
        if !account.code.is_empty() {
            diff.codes.push(NewCode { hash: code_hash, code: account.code.clone() });
        }
        let nonce = u64::try_from(account.nonce).map_err(|_| format!("nonce of {address} is too large"))?;
        let storage = account.storage.iter().filter(|(_, value)| !value.is_zero());
        let account = AccountDiff {
            account: Some(Account { nonce, balance: account.balance, code_hash }),
            wiped: false,
            storage: storage.map(|(slot, value)| (*slot, *value)).collect(),
        };
        diff.accounts.push(ChangedAccount { address: *address, diff: account });
    }
    diff.codes.sort_unstable_by_key(|code| code.hash);
    diff.codes.dedup_by_key(|code| code.hash);
    State::default().apply(&diff).map_err(|error| error.to_string())
}
