//! The state after some step, and the step to the next.

use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use foreseal_trie::{Change, Lookup, Trie, Want};
use foreseal_types::{
    Account, AccountDiff, ChangedAccount, NewCode, StateDiff, hash_address, keccak, keccak_batch,
};
use rayon::prelude::*;
use revm_bytecode::Bytecode;

use crate::{
    StateError, TrieName,
    account::{AccountLeaf, SlotValue},
    store::{Base, analysed},
};

/// From this many written slots on, an account's storage trie is worked on by itself, which may fork.
const LARGE_STORAGE: usize = 256;
/// Smaller storage tries are hashed together in groups of so many accounts.
const GROUP: usize = 64;

/// Keys that one thread hashes at a time.
const HASH_PIECE: usize = 512;

/// Accounts that one thread looks up at a time.
const READ_PIECE: usize = 256;

/// A storage trie and the changes that make the next one.
type StorageWork = (Trie<SlotValue>, Vec<Change<SlotValue>>);

/// An immutable snapshot of accounts, storage and code. A clone copies pointers.
///
/// Parts of it may be in a [`StateStore`](crate::StateStore) instead of in memory (see [`State::stored`]).
#[derive(Clone, Default)]
pub struct State {
    pub(crate) accounts: Trie<AccountLeaf>,
    /// Analysed code by its hash, of what the store need not have. Code stays when the last account that has it goes.
    pub(crate) codes: imbl::HashMap<B256, Bytecode>,
    /// Where to read what is a stub in the tries. It is the same there as it was after the block that is named.
    pub(crate) base: Option<Base>,
}

impl State {
    /// The state that a genesis allocates.
    pub fn from_genesis(genesis: &Genesis) -> Self {
        Self::default().apply(&genesis_diff(genesis)).expect("a state that is wholly in memory loads nothing")
    }

    /// The snapshot after `diff`, with its root. Emptiness (EIP-161) is not looked at: what the diff says is taken.
    ///
    /// # Errors
    /// When a trie node has to be loaded and cannot be. A state that is wholly in memory never fails.
    pub fn apply(&self, diff: &StateDiff) -> Result<Self, StateError> {
        let mut codes = self.codes.clone();
        for new in &diff.codes {
            codes.entry(new.hash).or_insert_with(|| analysed(new.code.clone()));
        }
        let keys = address_keys(&diff.accounts);
        let source = self.nodes(TrieName::Accounts);
        let wants = keys
            .iter()
            .zip(&diff.accounts)
            .map(|(key, changed)| Want { key: (*key).into(), deleted: changed.diff.account.is_none() });
        let accounts = self.accounts.load(wants, &source).map_err(|error| source.error(error))?;
        let leaves: Vec<Option<&AccountLeaf>> = keys
            .par_chunks(READ_PIECE)
            .flat_map_iter(|keys| accounts.get_many(keys).into_iter().map(Lookup::value))
            .collect();
        let storages = NextStorages { state: self, accounts: &diff.accounts, keys: &keys }.run(&leaves)?;
        let changes = keys.into_iter().zip(&diff.accounts).zip(storages).map(|((key, changed), storage)| {
            let leaf = changed.diff.account.map(|account| AccountLeaf::new(account, storage));
            (key.into(), leaf)
        });
        Ok(Self { accounts: accounts.apply(changes.collect()), codes, base: self.base.clone() })
    }

    /// The state root. Already computed.
    pub fn root(&self) -> B256 {
        self.accounts.root()
    }

    /// How many accounts exist; `None` if some of them never were in memory.
    pub fn account_count(&self) -> Option<usize> {
        self.accounts.len()
    }

    /// The root of an account's storage; `None` if there is no such account.
    ///
    /// # Errors
    /// When a trie node has to be loaded and cannot be.
    pub fn storage_root(&self, address: &Address) -> Result<Option<B256>, StateError> {
        let key = hash_address(address);
        Ok(self.loaded(key)?.get(key.as_slice()).value().map(AccountLeaf::storage_root))
    }
}

/// What a genesis changes in the empty state: what it allocates.
pub fn genesis_diff(genesis: &Genesis) -> StateDiff {
    let codes = genesis.alloc.values().filter_map(|account| account.code.as_ref());
    let mut codes: Vec<_> = codes.map(|code| NewCode { hash: keccak(code), code: code.clone() }).collect();
    codes.sort_unstable_by_key(|code| code.hash);
    codes.dedup_by_key(|code| code.hash);
    let accounts = genesis.alloc.iter().map(|(address, account)| allocated(*address, account)).collect();
    StateDiff { accounts, codes }
}

fn allocated(address: Address, account: &GenesisAccount) -> ChangedAccount {
    let slots = account.storage.iter().flatten();
    let code_hash = account.code.as_ref().map_or(KECCAK256_EMPTY, |code| keccak(code));
    let diff = AccountDiff {
        account: Some(Account { nonce: account.nonce.unwrap_or(0), balance: account.balance, code_hash }),
        wiped: false,
        storage: slots.map(|(slot, value)| ((*slot).into(), (*value).into())).collect(),
    };
    ChangedAccount { address, diff }
}

fn address_keys(accounts: &[ChangedAccount]) -> Vec<B256> {
    hash_all(&accounts.iter().map(|changed| changed.address.as_slice()).collect::<Vec<_>>())
}

fn hash_all(inputs: &[&[u8]]) -> Vec<B256> {
    let mut hashes = vec![B256::ZERO; inputs.len()];
    let pieces = inputs.par_chunks(HASH_PIECE).zip(hashes.par_chunks_mut(HASH_PIECE));
    pieces.for_each(|(inputs, hashes)| keccak_batch(inputs, hashes));
    hashes
}

/// The work on the storage of the accounts that a diff changes.
struct NextStorages<'d> {
    state: &'d State,
    accounts: &'d [ChangedAccount],
    /// The hashes of their addresses.
    keys: &'d [B256],
}

impl NextStorages<'_> {
    /// The storage trie of every changed account after the diff, in the order of the diff.
    fn run(&self, leaves: &[Option<&AccountLeaf>]) -> Result<Vec<Trie<SlotValue>>, StateError> {
        let accounts = self.accounts;
        let mut tries: Vec<Trie<SlotValue>> =
            accounts.iter().zip(leaves).map(|(changed, leaf)| kept_storage(&changed.diff, *leaf)).collect();
        let written =
            |at: &usize| accounts[*at].diff.account.is_some() && !accounts[*at].diff.storage.is_empty();
        let written: Vec<usize> = (0..accounts.len()).filter(written).collect();
        let (large, small): (Vec<usize>, Vec<usize>) =
            written.into_iter().partition(|at| accounts[*at].diff.storage.len() >= LARGE_STORAGE);
        let one = |at: &usize| {
            let (trie, changes) = self.work(*at, &tries[*at])?;
            Ok((*at, trie.apply(changes)))
        };
        let group = |group: &[usize]| {
            let work = group.iter().map(|at| self.work(*at, &tries[*at])).collect::<Result<_, _>>()?;
            Ok(group.iter().copied().zip(Trie::apply_all(work)).collect())
        };
        let large: Vec<_> = large.par_iter().map(one).collect::<Result<_, StateError>>()?;
        let small: Vec<Vec<_>> = small.par_chunks(GROUP).map(group).collect::<Result<_, StateError>>()?;
        for (at, next) in large.into_iter().chain(small.into_iter().flatten()) {
            tries[at] = next;
        }
        Ok(tries)
    }

    /// What is to be applied to one account's storage, and the storage with all that is needed for it in memory.
    fn work(&self, at: usize, storage: &Trie<SlotValue>) -> Result<StorageWork, StateError> {
        let changes = slot_changes(&self.accounts[at].diff);
        let source = self.state.nodes(TrieName::Storage(self.keys[at]));
        let wants = changes.iter().map(|(key, value)| Want { key: key.clone(), deleted: value.is_none() });
        let storage = storage.load(wants, &source).map_err(|error| source.error(error))?;
        Ok((storage, changes))
    }
}

/// What an account's storage was, as far as the diff keeps it.
fn kept_storage(diff: &AccountDiff, leaf: Option<&AccountLeaf>) -> Trie<SlotValue> {
    if diff.wiped || diff.account.is_none() {
        return Trie::default();
    }
    leaf.and_then(AccountLeaf::storage).cloned().unwrap_or_default()
}

fn slot_changes(diff: &AccountDiff) -> Vec<Change<SlotValue>> {
    let slots: Vec<[u8; 32]> = diff.storage.iter().map(|(slot, _)| slot.to_be_bytes()).collect();
    let keys = hash_all(&slots.iter().map(<[u8; 32]>::as_slice).collect::<Vec<_>>());
    let value = |value: U256| (!value.is_zero()).then_some(SlotValue(value));
    keys.into_iter().zip(&diff.storage).map(|(key, slot)| (key.into(), value(slot.1))).collect()
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("root", &self.root()).finish_non_exhaustive()
    }
}
