//! States over a store against the same states wholly in memory.

mod double;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use double::Double;
use foreseal_state::{State, StateReader, StateStore};
use foreseal_types::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};

const ACCOUNTS: u8 = 24;
const SLOTS: u64 = 40;

fn address(seed: u8) -> Address {
    Address::with_last_byte(seed)
}

fn code(seed: u8) -> NewCode {
    let code = Bytes::from(vec![0x60, seed, 0x00]);
    NewCode { hash: keccak256(&code), code }
}

fn account() -> impl Strategy<Value = Account> {
    let code_hash = prop_oneof![2 => Just(KECCAK256_EMPTY), 1 => (0u8..6).prop_map(|seed| code(seed).hash)];
    (0u64..4, 0u64..4, code_hash).prop_map(|(nonce, balance, code_hash)| Account {
        nonce,
        balance: U256::from(balance),
        code_hash,
    })
}

fn account_diff() -> impl Strategy<Value = AccountDiff> {
    // Few values, so that accounts come back to what they were, and a new incarnation equals an old one.
    let storage = btree_map((0..SLOTS).prop_map(U256::from), (0u64..3).prop_map(U256::from), 0..12);
    (option::weighted(0.8, account()), prop::bool::weighted(0.25), storage).prop_map(
        |(account, wiped, storage)| AccountDiff { account, wiped, storage: storage.into_iter().collect() },
    )
}

fn diff() -> impl Strategy<Value = StateDiff> {
    btree_map((0..ACCOUNTS).prop_map(address), account_diff(), 0..10).prop_map(|accounts| {
        let hashes: BTreeMap<B256, NewCode> = (0..6).map(|seed| (code(seed).hash, code(seed))).collect();
        let used = accounts.values().filter_map(|diff| hashes.get(&diff.account?.code_hash).cloned());
        let codes: BTreeMap<B256, NewCode> = used.map(|new| (new.hash, new)).collect();
        let changed = |(address, diff)| ChangedAccount { address, diff };
        StateDiff {
            accounts: accounts.into_iter().map(changed).collect(),
            codes: codes.into_values().collect(),
        }
    })
}

fn assert_same(whole: &State, stored: &State) {
    assert_eq!(whole.root(), stored.root());
    let addresses: Vec<Address> = (0..ACCOUNTS).map(address).collect();
    assert_eq!(whole.accounts(&addresses), stored.accounts(&addresses));
    let slots: Vec<U256> = (0..SLOTS).map(U256::from).collect();
    for address in &addresses {
        let account = whole.account(address).unwrap();
        assert_eq!(stored.account(address).unwrap(), account);
        assert_eq!(stored.has_storage(address), whole.has_storage(address));
        assert_eq!(stored.storage_root(address), whole.storage_root(address));
        let (one, other) = (whole.storage_of(address).unwrap(), stored.storage_of(address).unwrap());
        for slot in &slots {
            let value = whole.storage(address, slot);
            assert_eq!(stored.storage(address, slot), value, "{address} {slot}");
            assert_eq!((one.slot(slot), other.slot(slot)), (value.clone(), value));
        }
        assert_eq!(stored.prove_account(address, &slots), whole.prove_account(address, &slots));
        let hash = account.map_or(KECCAK256_EMPTY, |account| account.code_hash);
        assert_eq!(stored.code(&hash), whole.code(&hash));
    }
    let of = |state: &State| state.iter_accounts().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(of(stored), of(whole));
    for account in of(whole) {
        let slots = |state: &State| -> Vec<_> {
            state.iter_slots(account.hash).unwrap().collect::<Result<_, _>>().unwrap()
        };
        assert_eq!(slots(stored), slots(whole));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The store is up to `lag` blocks behind; the live state is let go of in a few portions a block.
    #[test]
    fn histories(diffs in vec(diff(), 1..12), lag in 0usize..4, portions in vec(any::<u8>(), 0..300)) {
        let double = Arc::new(Double::default());
        let store: Arc<dyn StateStore> = double.clone();
        let (mut whole, mut live) = (vec![State::default()], vec![State::default()]);
        let mut stored = 0;
        double.write(0, &StateDiff::default(), &State::default().changes_since(&State::default()).unwrap());
        for (at, diff) in diffs.iter().enumerate() {
            whole.push(whole[at].apply(diff).unwrap());
            let mut next = live[at].apply(diff).unwrap();
            prop_assert_eq!(next.root(), whole[at + 1].root());
            while stored + lag < at + 1 {
                stored += 1;
                let made = if stored == at + 1 { &next } else { &live[stored] };
                let changes = made.changes_since(&live[stored - 1]).unwrap();
                prop_assert_eq!(&changes, &whole[stored].changes_since(&whole[stored - 1]).unwrap());
                double.write(stored as u64, &diffs[stored - 1], &changes);
            }
            let old = if stored == at + 1 { next.clone() } else { live[stored].clone() };
            for portion in &portions {
                next = next.unload(&old, &store, stored as u64, *portion);
            }
            assert_same(&whole[at + 1], &next);
            live.push(next);
        }
        for (at, whole) in whole.iter().enumerate().take(stored + 1) {
            let old = State::stored(Arc::clone(&store), at as u64, whole.root());
            assert_same(whole, &old);
            if let Some(diff) = diffs.get(at) {
                prop_assert_eq!(old.apply(diff).unwrap().root(), whole.apply(diff).unwrap().root());
            }
        }
    }
}
