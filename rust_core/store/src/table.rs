//! Tables of the store, and the list of all of them.

use std::ops::Bound;

use heed::{Database, PutFlags, RoTxn, RwTxn, types::Bytes};

use crate::{error::StoreError, log_index::LogIndex};

/// A key and its value, borrowed from the map.
pub(crate) type Entry<'t> = (&'t [u8], &'t [u8]);

/// A table from bytes to bytes, ordered by key.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub name: &'static str,
    database: Database<'static, Bytes, Bytes>,
}

impl Tables {
    /// Name of [`Self::meta`].
    pub const META: &'static str = Self::NAMES[0];

    /// Returns the log index in its table.
    pub fn log_index(&self) -> LogIndex {
        LogIndex::new(self.log_index.database())
    }
}

impl Table {
    pub fn new(name: &'static str, database: Database<'static, Bytes, Bytes>) -> Self {
        Self { name, database }
    }

    pub fn get<'t>(&self, txn: &'t RoTxn<'_>, key: &[u8]) -> Result<Option<&'t [u8]>, StoreError> {
        self.database.get(txn, key).map_err(|error| self.failed(key, error))
    }

    /// Returns the entries from one key up to another one, which is excluded.
    pub fn range<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        from: &[u8],
        to: &[u8],
    ) -> Result<impl Iterator<Item = Result<Entry<'t>, StoreError>> + use<'t>, StoreError> {
        let bounds = (Bound::Included(from), Bound::Excluded(to));
        self.iterate(txn, &bounds)
    }

    /// Returns the first entry whose key is `key` or greater.
    pub fn seek<'t>(&self, txn: &'t RoTxn<'_>, key: &[u8]) -> Result<Option<Entry<'t>>, StoreError> {
        self.database.get_greater_than_or_equal_to(txn, key).map_err(|error| self.failed(key, error))
    }

    /// Returns the first entry whose key is greater than `key`.
    pub fn after<'t>(&self, txn: &'t RoTxn<'_>, key: &[u8]) -> Result<Option<Entry<'t>>, StoreError> {
        self.database.get_greater_than(txn, key).map_err(|error| self.failed(key, error))
    }

    /// Returns the entries from a key on; all entries if the key is empty.
    pub fn from<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        from: &[u8],
    ) -> Result<impl Iterator<Item = Result<Entry<'t>, StoreError>> + use<'t>, StoreError> {
        let from = if from.is_empty() { Bound::Unbounded } else { Bound::Included(from) };
        self.iterate(txn, &(from, Bound::<&[u8]>::Unbounded))
    }

    /// Returns the entries whose keys begin with `prefix`.
    pub fn prefix<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        prefix: &[u8],
    ) -> Result<impl Iterator<Item = Result<Entry<'t>, StoreError>> + use<'t>, StoreError> {
        let (from, to) = prefix_bounds(prefix);
        self.iterate(txn, &(borrowed(&from), borrowed(&to)))
    }

    /// Returns the entries within bounds. An error names the key of the preceding entry, or the bound.
    fn iterate<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        bounds: &(Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<impl Iterator<Item = Result<Entry<'t>, StoreError>> + use<'t>, StoreError> {
        let table = *self;
        let mut last = match bounds.0 {
            Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
            Bound::Unbounded => Vec::new(),
        };
        let entries = self.database.range(txn, bounds).map_err(|error| table.failed(&last, error))?;
        let mut seen: Option<&'t [u8]> = None;
        Ok(entries.map(move |entry| match entry {
            Ok(entry) => {
                seen = Some(entry.0);
                Ok(entry)
            }
            Err(error) => {
                let from = seen.map_or_else(|| std::mem::take(&mut last), <[u8]>::to_vec);
                Err(table.failed(&from, error))
            }
        }))
    }

    /// Removes the entries whose keys begin with `prefix`.
    pub fn delete_prefix(&self, txn: &mut RwTxn<'_>, prefix: &[u8]) -> Result<(), StoreError> {
        let (from, to) = prefix_bounds(prefix);
        let deleted = self.database.delete_range(txn, &(borrowed(&from), borrowed(&to)));
        deleted.map(|_| ()).map_err(|error| self.failed(prefix, error))
    }

    /// Removes all entries.
    pub fn clear(&self, txn: &mut RwTxn<'_>) -> Result<(), StoreError> {
        self.database.clear(txn).map_err(|error| self.failed(&[], error))
    }

    pub fn put(&self, txn: &mut RwTxn<'_>, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.database.put(txn, key, value).map_err(|error| self.failed(key, error))
    }

    /// Appends an entry after all others. Fills pages completely, which `put` does not.
    ///
    /// # Errors
    /// Returns [`StoreError::Damaged`] if the table has an entry at or after `key`.
    pub fn append(&self, txn: &mut RwTxn<'_>, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        match self.database.put_with_flags(txn, PutFlags::APPEND, key, value) {
            Err(heed::Error::Mdb(heed::MdbError::KeyExist)) => {
                Err(self.damaged(key, "an entry that should come last is not beyond all others"))
            }
            other => other.map_err(|error| self.failed(key, error)),
        }
    }

    /// Removes an entry. Returns `true` if it existed.
    pub fn delete(&self, txn: &mut RwTxn<'_>, key: &[u8]) -> Result<bool, StoreError> {
        self.database.delete(txn, key).map_err(|error| self.failed(key, error))
    }

    /// Removes the entries from one key up to another one, which is excluded.
    pub fn delete_range(&self, txn: &mut RwTxn<'_>, from: &[u8], to: &[u8]) -> Result<(), StoreError> {
        let deleted = self.database.delete_range(txn, &(Bound::Included(from), Bound::Excluded(to)));
        deleted.map(|_| ()).map_err(|error| self.failed(from, error))
    }

    pub fn is_empty(&self, txn: &RoTxn<'_>) -> Result<bool, StoreError> {
        self.database.is_empty(txn).map_err(|error| self.failed(&[], error))
    }

    pub fn stat(&self, txn: &RoTxn<'_>) -> Result<heed::DatabaseStat, StoreError> {
        self.database.stat(txn).map_err(|error| self.failed(&[], error))
    }

    /// Returns the LMDB database, for modules that encode their own keys.
    pub fn database(&self) -> Database<'static, Bytes, Bytes> {
        self.database
    }

    /// Converts the error of an access by `key`: a damaged page is reported with table and key.
    fn failed(&self, key: &[u8], error: heed::Error) -> StoreError {
        StoreError::in_table(self.name, key, error)
    }

    /// Returns the error for a damaged entry of this table.
    pub fn damaged(&self, key: &[u8], why: &'static str) -> StoreError {
        StoreError::damaged(self.name, key, why)
    }
}

/// Returns the bounds of the keys that begin with a prefix. LMDB has no
/// empty key, so an empty bound is unbounded.
fn prefix_bounds(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let from = if prefix.is_empty() { Bound::Unbounded } else { Bound::Included(prefix.to_vec()) };
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX);
    let to = kept.map_or(Bound::Unbounded, |last| {
        let mut end = prefix[..=last].to_vec();
        end[last] += 1;
        Bound::Excluded(end)
    });
    (from, to)
}

fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Declares the tables once: as fields, for opening and for iteration.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Every table of the store.
        #[derive(Clone, Copy)]
        pub(crate) struct Tables {
            $($(#[$doc])* pub $name: Table,)*
        }

        impl Tables {
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            /// Returns the tables, given in the order of [`Self::NAMES`].
            pub fn new(tables: [Table; Self::NAMES.len()]) -> Self {
                let [$($name),*] = tables;
                Self { $($name),* }
            }

            pub fn all(&self) -> [Table; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

tables! {
    /// Identity and progress of the store; see [`crate::meta`].
    meta,
    /// Number to hash, counts and header.
    headers,
    /// Number to uncles and withdrawals, for blocks that have any.
    bodies,
    /// Number and index to sender and EIP-2718 bytes.
    transactions,
    /// Number and index to the receipt without its logs.
    receipts,
    /// Ordinal to log.
    logs,
    /// Criterion and chunk to the ordinals of the logs that have it; see [`crate::log_index`].
    log_index,
    /// Block hash to number.
    block_hashes,
    /// Transaction hash to number and index.
    transaction_hashes,
    /// Number and index to step.
    steps,
    /// Step hash to number and index, for the newest blocks.
    step_hashes,
    /// Address and inverted number to account.
    accounts,
    /// Address and inverted number to the incarnation of the account's
    /// storage, for accounts with more than one.
    incarnations,
    /// Address, incarnation, slot and inverted number to value.
    slots,
    /// Hash to code.
    codes,
    /// Number to the keys that the block wrote in the four preceding tables.
    state_changes,
    /// Path and inverted number to node; see [`crate::nodes`].
    account_nodes,
    /// Account hash, path and inverted number to node.
    storage_nodes,
    /// Number to the locations of the nodes that the block wrote, for the blocks of the proof window.
    node_changes,
}
