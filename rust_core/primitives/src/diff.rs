//! The state changes of a step.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{BufMut, Decodable, Encodable, Header, RlpDecodable, RlpEncodable};

use crate::account::Account;

/// The changes of one account, as absolute values only: applying a diff twice gives the same state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountDiff {
    /// The account after the changes; `None` if it no longer exists.
    pub account: Option<Account>,
    /// `true` if the previous storage is gone: the account was destroyed, or created over an old one.
    pub wiped: bool,
    /// Slots written, ascending; zero deletes the slot.
    pub storage: Vec<(U256, U256)>,
}

/// A set of changed accounts and new contract codes, both ascending by key.
///
/// Old values are not included: states are persistent snapshots, so a revert uses the older snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct StateDiff {
    pub accounts: Vec<ChangedAccount>,
    pub codes: Vec<NewCode>,
}

/// One entry of [`StateDiff::accounts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedAccount {
    pub address: Address,
    pub diff: AccountDiff,
}

/// One entry of [`StateDiff::codes`].
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct NewCode {
    pub hash: B256,
    pub code: Bytes,
}

impl StateDiff {
    /// Returns `true` if applying the diff changes nothing.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.codes.is_empty()
    }

    /// Returns the size of the diff in memory with everything that it owns, in bytes.
    pub fn memory_size(&self) -> usize {
        let account = |changed: &ChangedAccount| size_of_val(&*changed.diff.storage);
        let accounts = size_of_val(&*self.accounts) + self.accounts.iter().map(account).sum::<usize>();
        let codes = size_of_val(&*self.codes) + self.codes.iter().map(|new| new.code.len()).sum::<usize>();
        size_of::<Self>() + accounts + codes
    }

    /// Returns the number of accounts and slots that the diff changes.
    pub fn changed_keys(&self) -> usize {
        let slots: usize = self.accounts.iter().map(|changed| changed.diff.storage.len()).sum();
        self.accounts.len() + slots
    }

    /// Returns one diff with the effect of this diff followed by `later`.
    #[must_use]
    pub fn then(self, later: &Self) -> Self {
        let accounts = merge(
            self.accounts,
            &later.accounts,
            |changed| changed.address,
            |earlier, later| ChangedAccount { address: later.address, diff: earlier.diff.then(&later.diff) },
        );
        let codes = merge(self.codes, &later.codes, |code| code.hash, |_, later| later.clone());
        Self { accounts, codes }
    }
}

impl AccountDiff {
    fn then(self, later: &Self) -> Self {
        let Self { account, wiped, storage } = self;
        // A deleted account loses its storage, even if the diff does not set `wiped`.
        let wiped_later = later.wiped || account.is_none();
        let kept = if wiped_later || later.account.is_none() { Vec::new() } else { storage };
        let storage = merge(kept, &later.storage, |(slot, _)| *slot, |_, later| *later);
        Self { account: later.account, wiped: wiped || wiped_later, storage }
    }
}

/// Merges two lists that ascend by key; `both` combines entries with the same key.
fn merge<T: Clone, K: Ord>(
    earlier: Vec<T>,
    later: &[T],
    key: impl Fn(&T) -> K,
    both: impl Fn(T, &T) -> T,
) -> Vec<T> {
    if earlier.is_empty() {
        return later.to_vec();
    }
    let mut merged = Vec::with_capacity(earlier.len() + later.len());
    let mut later = later.iter().peekable();
    for entry in earlier {
        while let Some(next) = later.next_if(|next| key(next) < key(&entry)) {
            merged.push(next.clone());
        }
        match later.next_if(|next| key(next) == key(&entry)) {
            Some(next) => merged.push(both(entry, next)),
            None => merged.push(entry),
        }
    }
    merged.extend(later.cloned());
    merged
}

#[derive(Clone, Copy, RlpEncodable, RlpDecodable)]
struct AccountWire {
    nonce: u64,
    balance: U256,
    code_hash: B256,
}

#[derive(RlpEncodable, RlpDecodable)]
struct SlotWire {
    slot: U256,
    value: U256,
}

#[derive(RlpDecodable)]
struct ChangedAccountWire {
    address: Address,
    wiped: bool,
    /// Zero or one account.
    account: Vec<AccountWire>,
    storage: Vec<SlotWire>,
}

/// The storage writes as RLP, encoded directly from the pairs: one account may write thousands of slots.
struct Slots<'a>(&'a [(U256, U256)]);

impl Slots<'_> {
    fn payload(&self) -> usize {
        self.0.iter().map(|&(slot, value)| SlotWire { slot, value }.length()).sum()
    }
}

impl Encodable for Slots<'_> {
    fn encode(&self, out: &mut dyn BufMut) {
        Header { list: true, payload_length: self.payload() }.encode(out);
        for &(slot, value) in self.0 {
            SlotWire { slot, value }.encode(out);
        }
    }

    fn length(&self) -> usize {
        Header { list: true, payload_length: self.payload() }.length_with_payload()
    }
}

/// Encoding counterpart of [`ChangedAccountWire`].
#[derive(RlpEncodable)]
struct ChangedAccountOut<'a> {
    address: Address,
    wiped: bool,
    account: Vec<AccountWire>,
    storage: Slots<'a>,
}

impl Encodable for ChangedAccount {
    fn encode(&self, out: &mut dyn BufMut) {
        self.out().encode(out);
    }

    fn length(&self) -> usize {
        self.out().length()
    }
}

impl ChangedAccount {
    fn out(&self) -> ChangedAccountOut<'_> {
        let account = self.diff.account.map(|a| AccountWire {
            nonce: a.nonce,
            balance: a.balance,
            code_hash: a.code_hash,
        });
        ChangedAccountOut {
            address: self.address,
            wiped: self.diff.wiped,
            account: account.into_iter().collect(),
            storage: Slots(&self.diff.storage),
        }
    }
}

impl Decodable for ChangedAccount {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let wire = ChangedAccountWire::decode(buf)?;
        if wire.account.len() > 1 {
            return Err(alloy_rlp::Error::ListLengthMismatch { expected: 1, got: wire.account.len() });
        }
        let account = wire.account.into_iter().next().map(|a| Account {
            nonce: a.nonce,
            balance: a.balance,
            code_hash: a.code_hash,
        });
        let storage = wire.storage.into_iter().map(|s| (s.slot, s.value)).collect();
        Ok(Self { address: wire.address, diff: AccountDiff { account, wiped: wire.wiped, storage } })
    }
}
