//! States over a store, compared with the same states entirely in memory.

use std::{collections::BTreeMap, sync::Arc};

use crate::double::Double;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::{State, StateError, StateReader, StateStore, TrieName};
use foreseal_trie::NodePath;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::Index,
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
    // Few values, so that accounts return to earlier values and a new incarnation equals an old one.
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

fn assert_same(complete: &State, stored: &State) {
    assert_eq!(complete.root(), stored.root());
    let addresses: Vec<Address> = (0..ACCOUNTS).map(address).collect();
    assert_eq!(complete.accounts(&addresses), stored.accounts(&addresses));
    let slots: Vec<U256> = (0..SLOTS).map(U256::from).collect();
    for address in &addresses {
        let account = complete.account(address).unwrap();
        assert_eq!(stored.account(address).unwrap(), account);
        assert_eq!(stored.has_storage(address), complete.has_storage(address));
        assert_eq!(stored.storage_root(address), complete.storage_root(address));
        let (one, other) =
            (complete.account_storage(address).unwrap(), stored.account_storage(address).unwrap());
        for slot in &slots {
            let value = complete.storage(address, slot);
            assert_eq!(stored.storage(address, slot), value, "{address} {slot}");
            assert_eq!((one.slot(slot), other.slot(slot)), (value.clone(), value));
        }
        assert_eq!(stored.prove_account(address, &slots), complete.prove_account(address, &slots));
        let hash = account.map_or(KECCAK256_EMPTY, |account| account.code_hash);
        assert_eq!(stored.code(&hash), complete.code(&hash));
    }
    let of = |state: &State| state.iter_accounts().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(of(stored), of(complete));
    for account in of(complete) {
        let slots = |state: &State| -> Vec<_> {
            state.iter_slots(account.hash).unwrap().collect::<Result<_, _>>().unwrap()
        };
        assert_eq!(slots(stored), slots(complete));
    }
}

/// A history of blocks that is written to a store as it grows.
struct History {
    double: Arc<Double>,
    store: Arc<dyn StateStore>,
    diffs: Vec<StateDiff>,
    /// States entirely in memory, and partly unloaded ones; both begin with the empty state of block 0.
    complete: Vec<State>,
    live: Vec<State>,
    /// Newest block that the store holds.
    stored: usize,
}

impl History {
    fn new() -> Self {
        let double = Arc::new(Double::default());
        let (store, nothing) = (double.clone(), vec![State::default()]);
        Self { double, store, diffs: Vec::new(), complete: nothing.clone(), live: nothing, stored: 0 }
    }

    fn from_diffs(diffs: &[StateDiff]) -> Self {
        let mut history = Self::new();
        for diff in diffs {
            history.push(diff, 0, &[]);
        }
        history
    }

    /// Adds a block. The store lags by `lag` blocks, and portions that have not changed since its newest
    /// block are unloaded.
    fn push(&mut self, diff: &StateDiff, lag: usize, portions: &[u8]) {
        let head = self.diffs.len();
        self.diffs.push(diff.clone());
        self.complete.push(self.complete[head].apply(diff).unwrap());
        self.live.push(self.live[head].apply(diff).unwrap());
        while self.stored + lag < self.diffs.len() {
            self.write();
        }
        for portion in portions {
            self.unload(*portion);
        }
    }

    fn write(&mut self) {
        let (old, new) = (self.stored, self.stored + 1);
        let changes = self.live[new].changes_since(&self.live[old]).unwrap();
        assert_eq!(changes, self.complete[new].changes_since(&self.complete[old]).unwrap());
        self.double.write(new as u64, &self.diffs[old], &changes);
        self.stored = new;
    }

    fn unload(&mut self, portion: u8) {
        let (old, at) = (self.live[self.stored].clone(), self.stored as u64);
        let last = self.live.last_mut().unwrap();
        *last = last.evict_unchanged(&old, &self.store, at, portion);
    }

    fn assert_head(&self) {
        assert_same(self.complete.last().unwrap(), self.live.last().unwrap());
    }

    /// Returns the state after a block with nothing of it in memory.
    fn opened(&self, block: usize) -> State {
        State::from_store(Arc::clone(&self.store), block as u64, self.complete[block].root())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The store lags by up to `lag` blocks; the live state is unloaded in portions.
    #[test]
    fn a_partial_history_matches_the_complete_history(blocks in vec((diff(), vec(0u8..16, 0..10)), 1..12), lag in 0usize..4) {
        let mut history = History::new();
        for (diff, portions) in &blocks {
            history.push(diff, lag, portions);
            history.assert_head();
        }
        for at in 0..=history.stored {
            let (complete, opened) = (&history.complete[at], history.opened(at));
            assert_same(complete, &opened);
            if let Some(diff) = history.diffs.get(at) {
                prop_assert_eq!(opened.apply(diff).unwrap().root(), history.complete[at + 1].root());
            }
        }
    }

    /// With one node missing or replaced, every operation that needs it reports it, and all others are
    /// correct.
    #[test]
    fn a_corrupted_node_is_named(diffs in vec(diff(), 1..5), next in diff(), index in any::<Index>(), is_missing: bool) {
        let history = History::from_diffs(&diffs);
        let paths = history.double.node_paths();
        prop_assume!(!paths.is_empty());
        let (trie, path) = index.get(&paths).clone();
        history.double.spoil(trie, &path, |node| {
            *node = node.take().filter(|_| !is_missing).map(|node| [&[node[0] ^ 1], &node[1..]].concat().into());
        });
        let named = |error: &StateError| match error {
            StateError::NodeMissing { trie: other, path: at } => is_missing && (*other, at) == (trie, &path),
            StateError::NodeHash { trie: other, path: at } | StateError::NodeMalformed { trie: other, path: at } => {
                !is_missing && (*other, at) == (trie, &path)
            }
            _ => false,
        };
        let (complete, opened) = (history.complete.last().unwrap(), history.opened(diffs.len()));
        let slots: Vec<U256> = (0..SLOTS).map(U256::from).collect();
        for address in (0..ACCOUNTS).map(address) {
            // Flat values need no trie node.
            prop_assert_eq!(opened.account(&address), complete.account(&address));
            prop_assert_eq!(opened.storage(&address, &slots[1]), complete.storage(&address, &slots[1]));
            match opened.prove_account(&address, &slots) {
                Ok(proof) => prop_assert_eq!(Ok(proof), complete.prove_account(&address, &slots)),
                Err(error) => prop_assert!(named(&error), "{error}"),
            }
        }
        match opened.apply(&next) {
            Ok(state) => prop_assert_eq!(state.root(), complete.apply(&next).unwrap().root()),
            Err(error) => prop_assert!(named(&error), "{error}"),
        }
        let accounts: Result<Vec<_>, _> = opened.iter_accounts().collect();
        match accounts {
            Ok(accounts) => prop_assert!(accounts.into_iter().eq(complete.iter_accounts().map(Result::unwrap))),
            Err(error) => prop_assert!(named(&error), "{error}"),
        }
    }
}

fn one(address: Address, account: Option<Account>, storage: &[(u64, u64)]) -> StateDiff {
    let storage = storage.iter().map(|(slot, value)| (U256::from(*slot), U256::from(*value))).collect();
    let diff = AccountDiff { account, wiped: false, storage };
    StateDiff { accounts: vec![ChangedAccount { address, diff }], codes: Vec::new() }
}

/// Many accounts; one of them has many slots.
fn crowd() -> StateDiff {
    let slots: Vec<(u64, u64)> = (0..300).map(|slot| (slot, 7)).collect();
    let mut crowd = one(address(0), Some(Account::default()), &slots);
    let some = |seed: u16| {
        let address = Address::left_padding_from(&seed.to_be_bytes());
        one(address, Some(Account { nonce: seed.into(), ..Account::default() }), &[]).accounts
    };
    crowd.accounts.extend((1..600).flat_map(some));
    crowd
}

/// A value that changed and changed back reads correctly, although the store is read at a block in between.
#[test]
fn a_value_changed_and_restored_is_read_correctly() {
    let all: Vec<u8> = (0..16).collect();
    let contract = Some(Account::default());
    let changed = one(address(0), contract, &[(5, 8), (299, 0)]);
    let back = one(address(0), contract, &[(5, 7), (299, 7)]);
    let destroyed = one(address(0), None, &[]);
    let again = StateDiff { accounts: vec![crowd().accounts.swap_remove(0)], codes: Vec::new() };
    let absent = StateDiff { accounts: one(address(9), None, &[]).accounts, codes: Vec::new() };
    let here = one(address(9), Some(Account { nonce: 9, ..Account::default() }), &[]);
    for (there, back) in [(changed, back), (destroyed, again), (absent, here)] {
        let mut history = History::new();
        for diff in [&crowd(), &there, &back, &StateDiff::default(), &StateDiff::default()] {
            history.push(diff, 2, &all);
            history.assert_head();
        }
    }
}

/// An unloaded part of a state is read from the store: without the store's nodes a value is available, a
/// proof is not.
#[test]
fn evicted_nodes_are_not_in_memory() {
    let mut history = History::from_diffs(&[crowd()]);
    let proved = |history: &History| {
        let head = history.live.last().unwrap();
        (1..600u16)
            .filter(|seed| {
                let address = Address::left_padding_from(&seed.to_be_bytes());
                assert_eq!(head.account(&address).unwrap().unwrap().nonce, u64::from(*seed));
                head.prove_account(&address, &[]).is_ok()
            })
            .count()
    };
    for (trie, path) in history.double.node_paths() {
        history.double.spoil(trie, &path, |node| *node = None);
    }
    assert_eq!(proved(&history), 599);
    let mut left = vec![599];
    for portion in (0..16).rev() {
        history.unload(portion);
        if portion % 4 == 0 {
            left.push(proved(&history));
        }
    }
    assert!(left.is_sorted_by(|a, b| a > b), "{left:?}");
    assert_eq!(left.last(), Some(&0));
    let contract = history.live[1].prove_account(&address(0), &[U256::from(5)]);
    assert!(
        matches!(contract, Err(StateError::NodeMissing { trie: TrieName::Accounts, .. })),
        "{contract:?}"
    );
    let error = State::from_store(Arc::clone(&history.store), 1, history.complete[1].root())
        .apply(&crowd())
        .unwrap_err();
    assert_eq!(error, StateError::NodeMissing { trie: TrieName::Accounts, path: NodePath::default() });
}
