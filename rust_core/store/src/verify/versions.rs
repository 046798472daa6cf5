//! Verification of the state versions with the lists of what each block wrote.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use alloy_primitives::{B256, KECCAK256_EMPTY};
use foreseal_keccak::keccak;

use super::{
    PORTION, Verifier, fault,
    report::{Fault, StorePart},
    sound,
};
use crate::{
    error::StoreError,
    key,
    read_transaction::ReadTransaction,
    state::{keys, value},
    table::Table,
};

/// Maximum number of cached lists in which entries are searched.
const LISTS: usize = 64;

/// Number of entries in the lists of a chain, without genesis.
#[derive(Clone, Copy, Default)]
struct ListCounts {
    accounts: u64,
    incarnations: u64,
    slots: u64,
}

impl Verifier<'_> {
    pub(super) fn versions(&mut self) -> Result<(), StoreError> {
        let listed = self.lists()?;
        let tables = *self.reader.store().tables();
        let work = [
            (tables.accounts, listed.accounts, 28),
            (tables.incarnations, listed.incarnations, 28),
            (tables.slots, listed.slots, 64),
        ];
        for (table, listed, key_length) in work {
            let scanned = self.scan(&table, key_length)?;
            if scanned != listed {
                let why = format!("blocks wrote {listed} entries, found {scanned}");
                self.fault(fault(&table, &[], why));
                self.unlisted(&table)?;
            }
        }
        self.codes()
    }

    /// Verifies and counts the entries that the lists name.
    fn lists(&mut self) -> Result<ListCounts, StoreError> {
        let mut listed = ListCounts::default();
        for number in 1..=self.head {
            let reader = self.reader.clone();
            let faults = reader.read(|read_txn, _| list_faults(read_txn, number, &mut listed))?;
            self.faults(faults);
        }
        Ok(listed)
    }

    /// Verifies every entry of a table of versions. Returns the number of entries of blocks after genesis.
    fn scan(&mut self, table: &Table, key_length: usize) -> Result<u64, StoreError> {
        let (mut count, head) = (0, self.head);
        self.walk(
            table,
            PORTION,
            |read_txn, key, bytes, faults| {
                match keys::version(key) {
                    Some(version) if key.len() == key_length => {
                        count += u64::from((1..=head).contains(&version));
                    }
                    Some(_) | None => faults.push(fault(table, key, "the key does not have its length")),
                }
                faults.extend(value_fault(read_txn, table, key, bytes)?);
                Ok(())
            },
            |verifier, done, of| verifier.done(StorePart::Versions, done, of),
        )?;
        Ok(count)
    }

    /// Records the entries of a table that no list names.
    fn unlisted(&mut self, table: &Table) -> Result<(), StoreError> {
        let mut lists: HashMap<u64, BTreeSet<Vec<u8>>> = HashMap::new();
        let head = self.head;
        let each = |read_txn: &ReadTransaction<'_>, key: &[u8], _: &[u8], faults: &mut Vec<Fault>| {
            let Some(version) = keys::version(key).filter(|version| (1..=head).contains(version)) else {
                return Ok(());
            };
            if lists.len() > LISTS {
                lists.clear();
            }
            let list = match lists.entry(version) {
                Entry::Occupied(list) => list.into_mut(),
                Entry::Vacant(place) => place.insert(list_of(read_txn, table, version)?),
            };
            if !list.contains(key) {
                faults.push(fault(table, key, "the list of its block does not name it"));
            }
            Ok(())
        };
        self.walk(table, PORTION, each, |_, _, _| Ok(()))
    }

    fn codes(&mut self) -> Result<(), StoreError> {
        let table = self.reader.store().tables().codes;
        let each = |_: &ReadTransaction<'_>, key: &[u8], code: &[u8], faults: &mut Vec<Fault>| {
            if keccak(code).as_slice() != key {
                faults.push(fault(&table, key, "the code does not have this hash"));
            }
            Ok(())
        };
        // A code is up to a hundred times as long as another value.
        self.walk(&table, PORTION / 100, each, |_, _, _| Ok(()))
    }
}

/// Returns the faults of a block's list, such as named entries that
/// are missing, and counts the named entries.
fn list_faults(
    read_txn: &ReadTransaction<'_>,
    number: u64,
    listed: &mut ListCounts,
) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Vec::new();
    let Some(list) = sound(&mut faults, read_txn.state_keys(number))? else { return Ok(faults) };
    let tables = read_txn.tables;
    let (mut missing, mut checksum) = (Vec::new(), 0);
    let mut value = |table: &Table, key: &[u8]| {
        let value = table.get(read_txn.txn, key)?;
        match value {
            Some(value) => checksum = crc32c::crc32c_append(checksum, value),
            None => missing.push(fault(table, key, "the list of its block names it, but it is missing")),
        }
        Ok::<_, StoreError>(1)
    };
    for account in &list.accounts {
        listed.accounts += value(&tables.accounts, &keys::account(&account.address, number))?;
        for slot in &account.slots {
            let key = keys::slot(&account.address, account.incarnation, slot, number);
            listed.slots += value(&tables.slots, &key)?;
        }
    }
    if checksum != list.checksum {
        faults.push(fault(
            &tables.state_changes,
            &key::number(number),
            "the values do not have its checksum",
        ));
    }
    faults.extend(missing);
    for account in &list.accounts {
        listed.incarnations += u64::from(account.renewed);
        let key = keys::account(&account.address, number);
        let written = tables.incarnations.get(read_txn.txn, &key)?.is_some();
        let incarnation = read_txn.incarnation(&account.address, number);
        let fits =
            sound(&mut faults, incarnation)?.is_none_or(|incarnation| incarnation == account.incarnation);
        if written != account.renewed || !fits {
            faults.push(fault(&tables.incarnations, &key, "the list of its block has another incarnation"));
        }
    }
    for hash in &list.codes {
        if tables.codes.get(read_txn.txn, hash.as_slice())?.is_none() {
            faults.push(fault(&tables.codes, hash.as_slice(), "a block wrote it, but it is missing"));
        }
    }
    if tables.state_changes.get(read_txn.txn, &key::block_item(number, 0))?.is_none() {
        faults.push(fault(&tables.state_changes, &key::number(number), "it is missing"));
    }
    Ok(faults)
}

/// Returns the keys of a table that a block's list names.
fn list_of(
    read_txn: &ReadTransaction<'_>,
    table: &Table,
    number: u64,
) -> Result<BTreeSet<Vec<u8>>, StoreError> {
    let tables = read_txn.tables;
    let mut list = BTreeSet::new();
    let Some(keys) = sound(&mut Vec::new(), read_txn.state_keys(number))? else { return Ok(list) };
    for account in keys.accounts {
        let key = keys::account(&account.address, number).to_vec();
        if table.name == tables.slots.name {
            let slot = |slot| keys::slot(&account.address, account.incarnation, slot, number).to_vec();
            list.extend(account.slots.iter().map(slot));
        } else if table.name == tables.accounts.name || account.renewed {
            list.insert(key);
        }
    }
    Ok(list)
}

/// Returns the fault of a single value, if any.
fn value_fault(
    read_txn: &ReadTransaction<'_>,
    table: &Table,
    key: &[u8],
    bytes: &[u8],
) -> Result<Option<Fault>, StoreError> {
    let tables = read_txn.tables;
    let wrong = if table.name == tables.accounts.name {
        match value::decode_account(bytes) {
            Ok(Some(account)) => {
                (!has_code(read_txn, &account.code_hash)?).then_some("its code is not stored")
            }
            Ok(None) => None,
            Err(why) => Some(why),
        }
    } else if table.name == tables.slots.name {
        value::decode_slot(bytes).err()
    } else {
        (bytes.len() != 4).then_some("an incarnation does not have 4 bytes")
    };
    Ok(wrong.map(|why| fault(table, key, why)))
}

fn has_code(read_txn: &ReadTransaction<'_>, hash: &B256) -> Result<bool, StoreError> {
    let codes = &read_txn.tables.codes;
    Ok(*hash == KECCAK256_EMPTY || codes.get(read_txn.txn, hash.as_slice())?.is_some())
}
