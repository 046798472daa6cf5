//! The state after a step, and the application of a step's diff.

use alloy_consensus::{Header, constants::EMPTY_ROOT_HASH};
use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use foreseal_keccak::{hash_address, keccak, keccak_batch};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, MESSAGE_PASSER, NewCode, StateDiff,
};
use foreseal_trie::{Change, Lookup, RequiredKey, Trie};
use rayon::prelude::*;
use revm_bytecode::Bytecode;

use crate::{
    account::{AccountLeaf, SlotValue},
    reader::StateError,
    state_store::{BaseBlock, analyze_code},
    trie_name::TrieName,
};

/// Number of written slots from which an account's storage trie is updated separately, possibly on several
/// threads.
const LARGE_STORAGE: usize = 256;
/// Number of accounts with smaller storage tries that are hashed together.
const SMALL_STORAGE_GROUP: usize = 64;

/// Number of keys that one thread hashes at a time.
const HASH_CHUNK_SIZE: usize = 512;

/// Number of accounts that one thread looks up at a time.
const READ_CHUNK_SIZE: usize = 256;

/// A storage trie and the changes that lead to the next one.
type StorageUpdate = (Trie<SlotValue>, Vec<Change<SlotValue>>);

/// An immutable snapshot of accounts, storage and code. A clone copies pointers.
///
/// Parts of it may be in a [`StateStore`](crate::StateStore) instead of in memory (see [`State::from_store`]).
#[derive(Clone, Default)]
pub struct State {
    pub(crate) accounts: Trie<AccountLeaf>,
    /// Analysed code by its hash that the store may not have. Code stays after its last account is deleted.
    pub(crate) codes: imbl::HashMap<B256, Bytecode>,
    /// Store for everything that is a stub in the tries, and the block at which it is read. Below a stub
    /// nothing has changed since that block.
    pub(crate) base: Option<BaseBlock>,
}

impl State {
    /// Returns the state that a genesis allocates.
    pub fn from_genesis(genesis: &Genesis) -> Self {
        Self::default().apply(&genesis_diff(genesis)).expect("a state that is wholly in memory loads nothing")
    }

    /// Returns the snapshot after `diff`, with its root computed. Does not check for empty accounts
    /// (EIP-161): the diff is authoritative.
    ///
    /// # Errors
    /// Returns an error if a trie node that must be loaded cannot be. A state that is entirely in memory
    /// never fails.
    pub fn apply(&self, diff: &StateDiff) -> Result<Self, StateError> {
        let mut codes = self.codes.clone();
        for new in &diff.codes {
            codes.entry(new.hash).or_insert_with(|| analyze_code(new.code.clone()));
        }
        let keys = address_keys(&diff.accounts);
        let source = self.node_source(TrieName::Accounts);
        let required = keys.iter().zip(&diff.accounts).map(|(key, changed)| RequiredKey {
            key: (*key).into(),
            deleted: changed.diff.account.is_none(),
        });
        let accounts =
            self.accounts.load_in_parallel(required, &source).map_err(|error| source.state_error(error))?;
        let read = |keys: &[B256]| accounts.get_many(keys).into_iter().map(Lookup::value).collect();
        let leaves: Vec<Vec<Option<&AccountLeaf>>> = map_chunks(&keys, READ_CHUNK_SIZE, read);
        let leaves: Vec<Option<&AccountLeaf>> = leaves.into_iter().flatten().collect();
        let storages =
            StorageUpdates { state: self, accounts: &diff.accounts, keys: &keys }.apply(&leaves)?;
        let changes = keys.into_iter().zip(&diff.accounts).zip(storages).map(|((key, changed), storage)| {
            let leaf = changed.diff.account.map(|account| AccountLeaf::new(account, storage));
            (key.into(), leaf)
        });
        Ok(Self { accounts: accounts.apply(changes.collect()), codes, base: self.base.clone() })
    }

    /// Returns the state root, which is already computed.
    pub fn root(&self) -> B256 {
        self.accounts.root()
    }

    /// Returns the number of accounts; `None` if some of them were never in memory.
    pub fn account_count(&self) -> Option<usize> {
        self.accounts.len()
    }

    /// Returns the root of an account's storage; `None` if the account does not exist.
    ///
    /// # Errors
    /// Returns an error if a trie node that must be loaded cannot be.
    pub fn storage_root(&self, address: &Address) -> Result<Option<B256>, StateError> {
        let key = hash_address(address);
        Ok(self.load_path(key)?.get(key.as_slice()).value().map(AccountLeaf::storage_root))
    }
}

/// Returns the header of the genesis block, whose state is `state`.
pub fn genesis_header(spec: &ChainSpec, state: &State) -> Header {
    let header = spec.genesis_header(state.root());
    if spec.optimism().is_none() {
        return header;
    }
    // The state of a genesis is in memory.
    let root = withdrawals_root(state).unwrap_or(EMPTY_ROOT_HASH);
    Header { withdrawals_root: Some(root), ..header }
}

/// Returns the withdrawals root of a block of an OP chain: the storage root of the message passer after it
/// (OP specification, Isthmus).
pub fn withdrawals_root(state: &State) -> Result<B256, StateError> {
    Ok(state.storage_root(&MESSAGE_PASSER)?.unwrap_or(EMPTY_ROOT_HASH))
}

/// Returns the diff from the empty state to the allocation of a genesis.
pub fn genesis_diff(genesis: &Genesis) -> StateDiff {
    let codes = genesis.alloc.values().filter_map(|account| account.code.as_ref());
    let mut codes: Vec<_> = codes.map(|code| NewCode { hash: keccak(code), code: code.clone() }).collect();
    codes.sort_unstable_by_key(|code| code.hash);
    codes.dedup_by_key(|code| code.hash);
    let accounts =
        genesis.alloc.iter().map(|(address, account)| genesis_account(*address, account)).collect();
    StateDiff { accounts, codes }
}

fn genesis_account(address: Address, account: &GenesisAccount) -> ChangedAccount {
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
    if inputs.len() <= HASH_CHUNK_SIZE {
        keccak_batch(inputs, &mut hashes);
        return hashes;
    }
    let chunks = inputs.par_chunks(HASH_CHUNK_SIZE).zip(hashes.par_chunks_mut(HASH_CHUNK_SIZE));
    chunks.for_each(|(inputs, hashes)| keccak_batch(inputs, hashes));
    hashes
}

/// Maps chunks, on the pool if there are several: waking its threads takes longer than one chunk.
fn map_chunks<T: Sync, R: Send>(items: &[T], size: usize, map: impl Fn(&[T]) -> R + Send + Sync) -> Vec<R> {
    if items.len() <= size {
        items.chunks(size).map(map).collect()
    } else {
        items.par_chunks(size).map(map).collect()
    }
}

/// The update of the storage tries of the accounts that a diff changes.
struct StorageUpdates<'d> {
    state: &'d State,
    accounts: &'d [ChangedAccount],
    /// Hashes of the addresses of `accounts`.
    keys: &'d [B256],
}

impl StorageUpdates<'_> {
    /// Returns the storage trie of every changed account after the diff, in the order of the diff.
    fn apply(&self, leaves: &[Option<&AccountLeaf>]) -> Result<Vec<Trie<SlotValue>>, StateError> {
        let accounts = self.accounts;
        let mut tries: Vec<Trie<SlotValue>> = accounts
            .iter()
            .zip(leaves)
            .map(|(changed, leaf)| unchanged_storage(&changed.diff, *leaf))
            .collect();
        let written =
            |at: &usize| accounts[*at].diff.account.is_some() && !accounts[*at].diff.storage.is_empty();
        let written: Vec<usize> = (0..accounts.len()).filter(written).collect();
        let (large, small): (Vec<usize>, Vec<usize>) =
            written.into_iter().partition(|at| accounts[*at].diff.storage.len() >= LARGE_STORAGE);
        let one = |at: &[usize]| {
            let (trie, changes) = self.prepare(at[0], &tries[at[0]])?;
            Ok((at[0], trie.apply(changes)))
        };
        let group = |group: &[usize]| {
            let work = group.iter().map(|at| self.prepare(*at, &tries[*at])).collect::<Result<_, _>>()?;
            Ok(group.iter().copied().zip(Trie::apply_all(work)).collect())
        };
        let large: Vec<Result<_, StateError>> = map_chunks(&large, 1, one);
        let small: Vec<Result<Vec<_>, StateError>> = map_chunks(&small, SMALL_STORAGE_GROUP, group);
        let large = large.into_iter().collect::<Result<Vec<_>, _>>()?;
        let small = small.into_iter().collect::<Result<Vec<_>, _>>()?;
        for (at, next) in large.into_iter().chain(small.into_iter().flatten()) {
            tries[at] = next;
        }
        Ok(tries)
    }

    /// Returns the changes of one account's storage, and its trie with all nodes that they need loaded.
    fn prepare(&self, at: usize, storage: &Trie<SlotValue>) -> Result<StorageUpdate, StateError> {
        let changes = slot_changes(&self.accounts[at].diff);
        let source = self.state.node_source(TrieName::Storage(self.keys[at]));
        let required =
            changes.iter().map(|(key, value)| RequiredKey { key: key.clone(), deleted: value.is_none() });
        let storage =
            storage.load_in_parallel(required, &source).map_err(|error| source.state_error(error))?;
        Ok((storage, changes))
    }
}

/// Returns the account's storage before the slot changes of the diff: empty if the diff wipes it or deletes
/// the account.
fn unchanged_storage(diff: &AccountDiff, leaf: Option<&AccountLeaf>) -> Trie<SlotValue> {
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
