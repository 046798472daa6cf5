//! Reads and writes of a step: the database that revm uses.

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, B256Map},
};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::{BlockHashes, StateError, StateReader, StorageReader, analyze_code};
use revm::{
    Database,
    bytecode::Bytecode,
    primitives::{KECCAK_EMPTY, U256Map},
    state::{Account as EvmAccount, AccountInfo},
};

use crate::{
    deadline::Deadline,
    interruption::Interruption,
    slot_prediction::{MAX_RECORDED, MappingHash, PredictedSlot},
};

/// Value of a slot, and its value at the last [`ExecutionState::drain_diff`].
#[derive(Clone, Copy)]
struct CachedSlot {
    value: U256,
    base: U256,
}

/// State of an account, and its state at the last [`ExecutionState::drain_diff`].
#[derive(Default)]
struct CachedAccount<'a> {
    info: Option<AccountInfo>,
    base: Option<Account>,
    slots: U256Map<CachedSlot>,
    /// The reader's storage of the account, opened at the first read.
    storage: Option<Box<dyn StorageReader + 'a>>,
    /// Slots written since the last [`ExecutionState::drain_diff`], unsorted, with possible duplicates.
    written: Vec<U256>,
    /// `true` if the reader's storage of this account is obsolete: the account was destroyed or overwritten
    /// by a creation.
    detached: bool,
    /// `true` if the storage at the last [`ExecutionState::drain_diff`] is deleted.
    wiped: bool,
    /// `true` if the account is in [`ExecutionState::changed`].
    listed: bool,
}

/// Values of an account that an execution has read, and their values at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccountRead {
    pub address: Address,
    pub account: Option<Account>,
    pub slots: Vec<(U256, U256)>,
    /// `false` if some reads are unknown, because the account was destroyed afterwards.
    pub is_complete: bool,
}

/// Reads of the fee recipient's account, which the payment of fees needs as well.
#[derive(Clone, Copy, Debug)]
struct WatchedRecipient {
    address: Address,
    /// `true` once the last frame has ended: only the payment of fees follows.
    is_executed: bool,
    /// `true` if the account was read before that.
    is_observed: bool,
}

/// Write cache over a reader. It also caches all reads, so a step reads each value once.
pub struct ExecutionState<'a> {
    reader: &'a dyn StateReader,
    hashes: &'a dyn BlockHashes,
    entries: AddressMap<CachedAccount<'a>>,
    codes: B256Map<Bytecode>,
    /// Accounts written since the last [`ExecutionState::drain_diff`].
    changed: Vec<Address>,
    /// Account that is loaded with a false nonce; see [`ExecutionState::set_simulated_collision`].
    simulated_collision: Option<Address>,
    /// Deadline after which the reader is not read any more.
    deadline: Option<Deadline>,
    /// Hashes of mapping entries in the current transaction; `None` if they are not recorded.
    recorded: Option<Vec<MappingHash>>,
    watched: Option<WatchedRecipient>,
}

fn to_account(info: &AccountInfo) -> Account {
    let code_hash = if info.code_hash.is_zero() { KECCAK_EMPTY } else { info.code_hash };
    Account { nonce: info.nonce, balance: info.balance, code_hash }
}

fn to_account_info(account: Account) -> AccountInfo {
    AccountInfo {
        balance: account.balance,
        nonce: account.nonce,
        code_hash: account.code_hash,
        account_id: None,
        code: None,
    }
}

impl<'a> CachedAccount<'a> {
    /// Returns the reader's storage of the account.
    fn reader_storage(
        &mut self,
        reader: &'a dyn StateReader,
        address: &Address,
    ) -> Result<&dyn StorageReader, StateError> {
        if self.storage.is_none() {
            self.storage = Some(reader.account_storage(address)?);
        }
        Ok(&**self.storage.as_ref().expect("it was opened"))
    }
}

impl CachedAccount<'_> {
    fn loaded(account: Option<Account>) -> Self {
        Self { info: account.map(to_account_info), base: account, ..Self::default() }
    }

    fn wipe(&mut self) {
        self.slots.clear();
        self.written.clear();
        self.detached = true;
        self.wiped = true;
    }

    fn destroy(&mut self) {
        self.info = None;
        self.wipe();
    }

    fn write(&mut self, slot: U256, value: U256) {
        // revm loads a slot before it writes it, except in a newly created account, where the old value is
        // zero.
        let entry = self.slots.entry(slot).or_insert(CachedSlot { value: U256::ZERO, base: U256::ZERO });
        if entry.value == entry.base {
            self.written.push(slot);
        }
        entry.value = value;
    }

    /// Returns the change since the last call, and the code if that is new.
    fn drain_changes(&mut self) -> (Option<AccountDiff>, Option<NewCode>) {
        self.listed = false;
        let account = self.info.as_ref().map(to_account);
        let base = std::mem::replace(&mut self.base, account);
        let wiped = std::mem::take(&mut self.wiped);
        let wiped = base.is_some() && (wiped || account.is_none());
        let mut written = std::mem::take(&mut self.written);
        written.sort_unstable();
        written.dedup();
        let mut storage = Vec::with_capacity(written.len());
        for key in written {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            if slot.value != slot.base {
                storage.push((key, slot.value));
            }
            slot.base = slot.value;
        }
        if account == base && !wiped && storage.is_empty() {
            return (None, None);
        }
        let before = base.map_or(KECCAK_EMPTY, |a| a.code_hash);
        let code = self.new_code(before);
        (Some(AccountDiff { account, wiped, storage }), code)
    }

    fn new_code(&self, before: B256) -> Option<NewCode> {
        let info = self.info.as_ref()?;
        let code = info.code.as_ref()?;
        let fresh = info.code_hash != before && info.code_hash != KECCAK_EMPTY && !code.is_empty();
        fresh.then(|| NewCode { hash: info.code_hash, code: code.original_bytes() })
    }
}

impl<'a> ExecutionState<'a> {
    pub fn new(reader: &'a dyn StateReader, hashes: &'a dyn BlockHashes) -> Self {
        Self {
            reader,
            hashes,
            entries: AddressMap::default(),
            codes: B256Map::default(),
            changed: Vec::new(),
            simulated_collision: None,
            deadline: None,
            recorded: None,
            watched: None,
        }
    }

    /// Distinguishes reads of the fee recipient by the payment of fees from others, for one transaction.
    pub fn watch_fee_recipient(&mut self, address: Address) {
        self.watched = Some(WatchedRecipient { address, is_executed: false, is_observed: false });
    }

    /// Marks the end of the last frame of a transaction.
    pub fn end_frames(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.is_executed = true;
        }
    }

    /// Returns everything that was read from the reader since the state was created, and `true` if the watched fee
    /// recipient was read for another purpose than the payment of fees. Call it before [`Self::drain_diff`].
    pub fn reads(&self) -> (Vec<AccountRead>, bool) {
        let mut reads: Vec<_> = self
            .entries
            .iter()
            .map(|(address, entry)| AccountRead {
                address: *address,
                account: entry.base,
                slots: entry.slots.iter().map(|(slot, cached)| (*slot, cached.base)).collect(),
                is_complete: !entry.detached || entry.base.is_none(),
            })
            .collect();
        reads.sort_unstable_by_key(|read| read.address);
        (reads, self.watched.is_none_or(|watched| watched.is_observed))
    }

    /// Returns the value of a slot.
    pub fn slot(&mut self, address: Address, slot: U256) -> Result<U256, Interruption> {
        self.storage(address, slot)
    }

    /// Begins or ends the recording of hashes, and returns those recorded so far.
    pub fn set_recording(&mut self, enabled: bool) -> Vec<MappingHash> {
        std::mem::replace(&mut self.recorded, enabled.then(Vec::new)).unwrap_or_default()
    }

    /// Records the hash of a mapping entry.
    pub fn record(&mut self, hash: MappingHash) {
        if let Some(recorded) = self.recorded.as_mut().filter(|recorded| recorded.len() < MAX_RECORDED) {
            recorded.push(hash);
        }
    }

    /// Sets the deadline after which revm's reads of the state fail.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = Some(deadline);
    }

    /// Checks the deadline; called before each read from the reader.
    fn check_deadline(&self) -> Result<(), Interruption> {
        self.deadline.map_or(Ok(()), Deadline::interrupted)
    }

    fn entry(&mut self, address: Address) -> Result<&mut CachedAccount<'a>, StateError> {
        match self.entries.entry(address) {
            alloy_primitives::map::hash_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            alloy_primitives::map::hash_map::Entry::Vacant(entry) => {
                let account = self.reader.account(&address)?;
                Ok(entry.insert(CachedAccount::loaded(account)))
            }
        }
    }

    /// Reads the accounts that are not cached yet, in one batch.
    pub fn prefetch(&mut self, addresses: impl Iterator<Item = Address>) -> Result<(), StateError> {
        let mut unknown: Vec<Address> = addresses.filter(|one| !self.entries.contains_key(one)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let accounts = self.reader.accounts(&unknown)?;
        for (address, account) in unknown.into_iter().zip(accounts) {
            self.entries.insert(address, CachedAccount::loaded(account));
        }
        Ok(())
    }

    /// Reads the slots that are not cached yet, in one batch for each contract.
    pub fn prefetch_slots(&mut self, mut slots: Vec<PredictedSlot>) -> Result<(), StateError> {
        slots.sort_by_key(|one| one.contract);
        let reader = self.reader;
        for slots in slots.chunk_by(|one, other| one.contract == other.contract) {
            let entry = self.entry(slots[0].contract)?;
            if entry.detached || entry.info.is_none() {
                continue;
            }
            let unknown = slots.iter().map(|one| one.slot).filter(|slot| !entry.slots.contains_key(slot));
            let unknown: Vec<U256> = unknown.collect();
            if unknown.is_empty() {
                continue;
            }
            let values = entry.reader_storage(reader, &slots[0].contract)?.slots(&unknown)?;
            for (slot, value) in unknown.into_iter().zip(values) {
                entry.slots.insert(slot, CachedSlot { value, base: value });
            }
        }
        Ok(())
    }

    /// Returns the current state of the account.
    pub fn account(&mut self, address: Address) -> Result<Option<Account>, StateError> {
        Ok(self.entry(address)?.info.as_ref().map(to_account))
    }

    /// Returns the account information that revm receives.
    pub fn info(&mut self, address: Address) -> Result<Option<&AccountInfo>, Interruption> {
        Ok(self.entry(address)?.info.as_ref())
    }

    /// Returns `true` if any slot of the account is not zero.
    pub fn has_storage(&mut self, address: Address) -> Result<bool, Interruption> {
        let reader = self.reader;
        let entry = self.entry(address)?;
        let written = entry.slots.values().any(|slot| !slot.value.is_zero());
        Ok(written || (!entry.detached && reader.has_storage(&address)?))
    }

    /// Makes revm load this account with nonce 1, so that it counts as used.
    pub fn set_simulated_collision(&mut self, address: Option<Address>) {
        self.simulated_collision = address;
    }

    /// Sets an account's balance (wei). With `clear_empty`, an account that is empty afterwards is deleted
    /// (EIP-161).
    pub fn set_balance(
        &mut self,
        address: Address,
        balance: U256,
        clear_empty: bool,
    ) -> Result<(), StateError> {
        let entry = self.entry(address)?;
        let info = entry.info.get_or_insert_default();
        info.balance = balance;
        if clear_empty && info.is_empty() {
            entry.destroy();
        }
        self.list(address);
        Ok(())
    }

    /// Applies state changes that were made without a transaction.
    pub fn write(&mut self, diff: &StateDiff) -> Result<(), Interruption> {
        let codes = diff.codes.iter().map(|new| (new.hash, analyze_code(new.code.clone())));
        self.codes.extend(codes);
        for ChangedAccount { address, diff } in &diff.accounts {
            let code = diff.account.and_then(|account| self.codes.get(&account.code_hash).cloned());
            let entry = self.entry(*address)?;
            if diff.wiped || diff.account.is_none() {
                entry.wipe();
            }
            entry.info = diff.account.map(|account| AccountInfo { code, ..to_account_info(account) });
            for (slot, value) in &diff.storage {
                // Load the slot first, so that the next `drain_diff` knows its old value.
                self.storage(*address, *slot)?;
                self.entry(*address)?.write(*slot, *value);
            }
            self.list(*address);
        }
        Ok(())
    }

    fn list(&mut self, address: Address) {
        let entry = self.entries.entry(address).or_default();
        if !entry.listed {
            entry.listed = true;
            self.changed.push(address);
        }
    }

    /// Returns everything that changed since the last call, as absolute values, sorted.
    pub fn drain_diff(&mut self) -> StateDiff {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        let mut diff = StateDiff::default();
        for address in changed {
            let Some(entry) = self.entries.get_mut(&address) else { continue };
            let (account, code) = entry.drain_changes();
            diff.accounts.extend(account.map(|diff| ChangedAccount { address, diff }));
            diff.codes.extend(code);
        }
        diff.codes.sort_unstable_by_key(|code| code.hash);
        diff.codes.dedup_by_key(|code| code.hash);
        diff
    }

    /// Applies the accounts that a transaction touched.
    pub fn commit_all(&mut self, changes: impl Iterator<Item = (Address, EvmAccount)>) {
        for (address, account) in changes {
            if account.is_touched() {
                self.apply(address, account);
            }
        }
    }

    /// Applies one account in the state after a transaction.
    ///
    /// EIP-161 state clearing is included: before Spurious Dragon revm marks the empty accounts that must
    /// stay.
    fn apply(&mut self, address: Address, account: EvmAccount) {
        let entry = self.entries.entry(address).or_default();
        if account.is_selfdestructed() {
            entry.destroy();
        } else if account.is_created() {
            if entry.info.is_some() {
                entry.wipe();
            }
            entry.load(account, &mut self.codes);
        } else if account.is_empty() {
            entry.destroy();
        } else {
            entry.load(account, &mut self.codes);
        }
        if !entry.listed {
            entry.listed = true;
            self.changed.push(address);
        }
    }
}

impl CachedAccount<'_> {
    fn load(&mut self, account: EvmAccount, codes: &mut B256Map<Bytecode>) {
        for (key, slot) in account.storage {
            if slot.is_changed() {
                self.write(key, slot.present_value);
            }
        }
        let before = self.info.as_ref().map(|info| info.code_hash);
        if let Some(code) = account.info.code.as_ref()
            && before != Some(account.info.code_hash)
            && !code.is_empty()
        {
            codes.insert(account.info.code_hash, code.clone());
        }
        self.info = Some(account.info);
    }
}

impl Database for ExecutionState<'_> {
    type Error = Interruption;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Interruption> {
        if self.deadline.is_some() && !self.entries.contains_key(&address) {
            self.check_deadline()?;
        }
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.address == address) {
            watched.is_observed |= !watched.is_executed;
        }
        let pretended = self.simulated_collision == Some(address);
        let mut info = self.entry(address)?.info.clone();
        if let Some(info) = info.as_mut().filter(|_| pretended) {
            info.nonce = 1;
        }
        Ok(info)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Interruption> {
        if hash == KECCAK_EMPTY {
            return Ok(Bytecode::default());
        }
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        self.check_deadline()?;
        let code = self.reader.code(&hash)?;
        self.codes.insert(hash, code.clone());
        Ok(code)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Interruption> {
        let (reader, deadline) = (self.reader, self.deadline);
        let entry = self.entry(address)?;
        if let Some(slot) = entry.slots.get(&slot) {
            return Ok(slot.value);
        }
        deadline.map_or(Ok(()), Deadline::interrupted)?;
        if entry.detached || entry.info.is_none() {
            return Ok(U256::ZERO);
        }
        let value = entry.reader_storage(reader, &address)?.slot(&slot)?;
        entry.slots.insert(slot, CachedSlot { value, base: value });
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Interruption> {
        self.check_deadline()?;
        Ok(self.hashes.block_hash(number)?.unwrap_or_default())
    }
}
