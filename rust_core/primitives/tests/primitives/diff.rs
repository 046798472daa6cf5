//! Compares combined diffs with the same diffs applied one after another to a plain map.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    accounts: BTreeMap<Address, (Account, BTreeMap<U256, U256>)>,
    codes: BTreeMap<B256, Bytes>,
}

impl Model {
    fn apply(mut self, diff: &StateDiff) -> Self {
        for ChangedAccount { address, diff } in &diff.accounts {
            let Some(account) = diff.account else {
                self.accounts.remove(address);
                continue;
            };
            let entry = self.accounts.entry(*address).or_default();
            entry.0 = account;
            if diff.wiped {
                entry.1.clear();
            }
            for (slot, value) in &diff.storage {
                entry.1.insert(*slot, *value);
            }
            entry.1.retain(|_, value| !value.is_zero());
        }
        self.codes.extend(diff.codes.iter().map(|new| (new.hash, new.code.clone())));
        self
    }
}

/// Uses few keys, so that diffs overlap.
fn diff() -> impl Strategy<Value = StateDiff> {
    let account = (0..3_u64, 0..3_u64).prop_map(|(nonce, balance)| Account {
        nonce,
        balance: U256::from(balance),
        ..Account::default()
    });
    let storage = btree_map((0..6_u64).prop_map(U256::from), (0..3_u64).prop_map(U256::from), 0..5);
    let change = (option::weighted(0.7, account), prop::bool::weighted(0.2), storage).prop_map(
        |(account, wiped, storage)| AccountDiff { account, wiped, storage: storage.into_iter().collect() },
    );
    let accounts = btree_map((0..5_u8).prop_map(Address::with_last_byte), change, 0..5);
    let codes = btree_map((0..4_u8).prop_map(B256::with_last_byte), Just(Bytes::from_static(b"code")), 0..3);
    (accounts, codes).prop_map(|(accounts, codes)| StateDiff {
        accounts: accounts.into_iter().map(|(address, diff)| ChangedAccount { address, diff }).collect(),
        codes: codes.into_iter().map(|(hash, code)| NewCode { hash, code }).collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_joined_diff_equals_its_diffs_in_sequence(before in diff(), diffs in vec(diff(), 1..6)) {
        let before = Model::default().apply(&before);
        let expected = diffs.iter().fold(before.clone(), Model::apply);
        let joined = diffs.iter().fold(StateDiff::default(), StateDiff::then);
        prop_assert!(joined.accounts.is_sorted_by(|a, b| a.address < b.address));
        prop_assert!(joined.accounts.iter().all(|c| c.diff.storage.is_sorted_by(|a, b| a.0 < b.0)));
        prop_assert!(joined.codes.is_sorted_by(|a, b| a.hash < b.hash));
        prop_assert_eq!(before.apply(&joined), expected);
    }
}
