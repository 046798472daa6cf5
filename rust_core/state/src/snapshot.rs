//! The state after some step, and the step to the next.

use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use foreseal_trie::{Change, Trie};
use foreseal_types::{
    Account, AccountDiff, ChangedAccount, NewCode, StateDiff, hash_address, keccak, keccak_batch,
};
use rayon::prelude::*;
use revm_bytecode::Bytecode;

use crate::{
    NoStorage, StateError, StateReader, StorageReader,
    account::{AccountLeaf, SlotValue},
};

/// From this many written slots on, an account's storage trie is worked on by itself, which may fork.
const LARGE_STORAGE: usize = 256;
/// Smaller storage tries are hashed together in groups of so many accounts.
const GROUP: usize = 64;

/// Keys that one thread hashes at a time.
const HASH_PIECE: usize = 512;

/// Accounts that one thread looks up at a time.
const READ_PIECE: usize = 256;

/// An immutable snapshot of accounts, storage and code. A clone copies pointers.
#[derive(Clone, Default)]
pub struct State {
    accounts: Trie<AccountLeaf>,
    /// Analysed code by its hash. Code stays when the last account that has it goes.
    codes: imbl::HashMap<B256, Bytecode>,
}

impl State {
    /// The state that a genesis allocates.
    pub fn from_genesis(genesis: &Genesis) -> Self {
        let codes = genesis.alloc.values().filter_map(|account| account.code.as_ref());
        let diff = StateDiff {
            accounts: genesis.alloc.iter().map(|(address, account)| allocated(*address, account)).collect(),
            codes: codes.map(|code| NewCode { hash: keccak(code), code: code.clone() }).collect(),
        };
        Self::default().apply(&diff)
    }

    /// The snapshot after `diff`, with its root. Emptiness (EIP-161) is not looked at: what the diff says is taken.
    #[must_use]
    pub fn apply(&self, diff: &StateDiff) -> Self {
        let mut codes = self.codes.clone();
        for new in &diff.codes {
            codes.entry(new.hash).or_insert_with(|| analysed(new.code.clone()));
        }
        let keys = address_keys(&diff.accounts);
        let leaves: Vec<Option<&AccountLeaf>> =
            keys.par_chunks(READ_PIECE).flat_map_iter(|keys| self.accounts.get_many(keys)).collect();
        let storages = next_storages(&diff.accounts, &leaves);
        let changes = keys.into_iter().zip(&diff.accounts).zip(storages).map(|((key, changed), storage)| {
            let leaf = changed.diff.account.map(|account| AccountLeaf::new(account, storage));
            (key.into(), leaf)
        });
        Self { accounts: self.accounts.apply(changes.collect()), codes }
    }

    /// The state root. Already computed.
    pub fn root(&self) -> B256 {
        self.accounts.root()
    }

    /// How many accounts exist.
    pub fn account_count(&self) -> usize {
        self.accounts.len()
    }

    /// The root of an account's storage; `None` if there is no such account.
    pub fn storage_root(&self, address: &Address) -> Option<B256> {
        self.leaf(address).map(AccountLeaf::storage_root)
    }

    pub(crate) fn accounts(&self) -> &Trie<AccountLeaf> {
        &self.accounts
    }

    fn leaf(&self, address: &Address) -> Option<&AccountLeaf> {
        self.accounts.get(hash_address(address).as_slice())
    }
}

impl StateReader for State {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.leaf(address).map(AccountLeaf::account))
    }

    fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        let inputs: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
        let mut keys = vec![B256::ZERO; inputs.len()];
        keccak_batch(&inputs, &mut keys);
        Ok(self.accounts.get_many(&keys).into_iter().map(|leaf| leaf.map(AccountLeaf::account)).collect())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let storage = self.leaf(address).and_then(AccountLeaf::storage);
        Ok(storage.map_or(U256::ZERO, |storage| read(storage, slot)))
    }

    fn storage_of(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(match self.leaf(address).and_then(AccountLeaf::storage) {
            Some(storage) => Box::new(AccountStorage(storage)),
            None => Box::new(NoStorage),
        })
    }

    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        Ok(self.leaf(address).and_then(AccountLeaf::storage).is_some_and(|storage| !storage.is_empty()))
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        if *hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }
}

struct AccountStorage<'s>(&'s Trie<SlotValue>);

impl StorageReader for AccountStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        Ok(read(self.0, slot))
    }
}

fn read(storage: &Trie<SlotValue>, slot: &U256) -> U256 {
    storage.get(hash_slot(slot).as_slice()).map_or(U256::ZERO, |value| value.0)
}

/// The key of a slot in its storage trie.
pub(crate) fn hash_slot(slot: &U256) -> B256 {
    keccak(&slot.to_be_bytes::<32>())
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

/// Code that begins like a delegation (EIP-7702) but is none can stand in states from before EIP-3541.
fn analysed(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
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

/// The storage trie of every changed account after the diff, in the order of the diff.
fn next_storages(accounts: &[ChangedAccount], leaves: &[Option<&AccountLeaf>]) -> Vec<Trie<SlotValue>> {
    let mut tries: Vec<Trie<SlotValue>> =
        accounts.iter().zip(leaves).map(|(changed, leaf)| kept_storage(&changed.diff, *leaf)).collect();
    let written = |at: &usize| accounts[*at].diff.account.is_some() && !accounts[*at].diff.storage.is_empty();
    let written: Vec<usize> = (0..accounts.len()).filter(written).collect();
    let (large, small): (Vec<usize>, Vec<usize>) =
        written.into_iter().partition(|at| accounts[*at].diff.storage.len() >= LARGE_STORAGE);
    let one = |at: &usize| (*at, tries[*at].apply(slot_changes(&accounts[*at].diff)));
    let group = |group: &[usize]| {
        let work = group.iter().map(|at| (tries[*at].clone(), slot_changes(&accounts[*at].diff)));
        let next = Trie::apply_all(work.collect());
        group.iter().copied().zip(next).collect::<Vec<_>>()
    };
    let large: Vec<_> = large.par_iter().map(one).collect();
    let small: Vec<_> = small.par_chunks(GROUP).map(group).collect();
    for (at, next) in large.into_iter().chain(small.into_iter().flatten()) {
        tries[at] = next;
    }
    tries
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
