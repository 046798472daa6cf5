//! Reading values as of a block.

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::Account;

use super::{keys, value};
use crate::{
    error::StoreError,
    read_transaction::ReadTransaction,
    table::{Entry, Table},
};

/// A value and the block that wrote it; 0 if none did.
pub(crate) struct Version<V> {
    pub value: V,
    pub since: u64,
}

impl<'s> ReadTransaction<'s> {
    /// Returns the newest version at or before the block in `key`.
    /// Versions of one value share the rest of the key.
    pub(crate) fn version(&self, table: &Table, key: &[u8]) -> Result<Option<Entry<'s>>, StoreError> {
        let shared = &key[..key.len() - 8];
        let entry = table.seek(self.txn, key)?;
        Ok(entry.filter(|(stored, _)| stored.len() == key.len() && stored.starts_with(shared)))
    }

    /// Returns the account as of a block.
    pub fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StoreError> {
        Ok(self.account_version(address, at)?.value)
    }

    /// Same as [`Self::account`], with the block that wrote the value.
    pub fn account_version(
        &self,
        address: &Address,
        at: u64,
    ) -> Result<Version<Option<Account>>, StoreError> {
        self.decoded(&self.tables.accounts, &keys::account(address, at), None, value::decode_account)
    }

    /// Returns how often the account's storage was dropped, as of a block. Usually 0, and the table is empty.
    pub fn incarnation(&self, address: &Address, at: u64) -> Result<u32, StoreError> {
        Ok(self.incarnation_version(address, at)?.value)
    }

    fn incarnation_version(&self, address: &Address, at: u64) -> Result<Version<u32>, StoreError> {
        if !self.incarnations {
            return Ok(Version { value: 0, since: 0 });
        }
        let decode = |bytes: &[u8]| match bytes.try_into() {
            Ok(bytes) => Ok(u32::from_be_bytes(bytes)),
            Err(_) => Err("an incarnation does not have 4 bytes"),
        };
        self.decoded(&self.tables.incarnations, &keys::account(address, at), 0, decode)
    }

    /// Returns the value of a slot as of a block.
    pub fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StoreError> {
        Ok(self.slot_version(address, slot, at)?.value)
    }

    /// Same as [`Self::slot`], with the block that wrote the value.
    pub fn slot_version(&self, address: &Address, slot: &U256, at: u64) -> Result<Version<U256>, StoreError> {
        let incarnation = self.incarnation_version(address, at)?;
        let Version { value, since } = self.slot_of(address, incarnation.value, slot, at)?;
        Ok(Version { value, since: since.max(incarnation.since) })
    }

    fn slot_of(
        &self,
        address: &Address,
        incarnation: u32,
        slot: &U256,
        at: u64,
    ) -> Result<Version<U256>, StoreError> {
        let key = keys::slot(address, incarnation, slot, at);
        self.decoded(&self.tables.slots, &key, U256::ZERO, value::decode_slot)
    }

    /// Returns the newest version at or before the block in `key`, decoded; `absent` if there is none.
    fn decoded<V>(
        &self,
        table: &Table,
        key: &[u8],
        absent: V,
        decode: impl FnOnce(&[u8]) -> Result<V, &'static str>,
    ) -> Result<Version<V>, StoreError> {
        let Some((key, bytes)) = self.version(table, key)? else {
            return Ok(Version { value: absent, since: 0 });
        };
        let value = decode(bytes).map_err(|why| table.damaged(key, why))?;
        Ok(Version { value, since: keys::version(key).expect("a key is longer than that") })
    }

    /// Returns `true` if the account has a nonzero slot as of a block. Reads slots until it finds one.
    pub fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StoreError> {
        let incarnation = self.incarnation(address, at)?;
        Ok(self.next_slot(address, incarnation, None, at)?.is_some())
    }

    /// Returns the next slot after `behind`, or the first one, that is nonzero as of a block, with its value.
    pub fn next_slot(
        &self,
        address: &Address,
        incarnation: u32,
        behind: Option<U256>,
        at: u64,
    ) -> Result<Option<(U256, U256)>, StoreError> {
        let table = &self.tables.slots;
        let storage = keys::storage(address, incarnation);
        // Block number 0 is the oldest possible version.
        let behind_all = |slot: &U256| table.after(self.txn, &keys::slot(address, incarnation, slot, 0));
        let mut next = match &behind {
            None => table.seek(self.txn, &storage)?,
            Some(slot) => behind_all(slot)?,
        };
        while let Some((key, _)) = next.filter(|(key, _)| key.starts_with(&storage)) {
            let Some(slot) = key.get(24..56).map(U256::from_be_slice) else {
                return Err(table.damaged(key, "a key does not have 64 bytes"));
            };
            let value = self.slot_of(address, incarnation, &slot, at)?.value;
            if !value.is_zero() {
                return Ok(Some((slot, value)));
            }
            next = behind_all(&slot)?;
        }
        Ok(None)
    }

    /// Returns the code with this hash.
    pub fn code(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let stored = self.tables.codes.get(self.txn, hash.as_slice())?;
        Ok(stored.map(Bytes::copy_from_slice))
    }
}
