//! What a transaction sees.

use heed::{RoTxn, WithoutTls};

use crate::{Progress, StoreError, meta, table::Tables};

/// A transaction and the tables that are read in it; the reads are in the modules of what they read.
///
/// Of a transaction that writes it sees what that has written so far.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot<'s> {
    pub txn: &'s RoTxn<'s, WithoutTls>,
    pub tables: &'s Tables,
    /// Whether there may be incarnations: whether the storage of any account was ever dropped.
    pub incarnations: bool,
}

impl<'s> Snapshot<'s> {
    /// Of a transaction of which nothing is known.
    pub fn new(txn: &'s RoTxn<'s, WithoutTls>, tables: &'s Tables) -> Self {
        Self { txn, tables, incarnations: true }
    }
}

/// What every read needs to know first. It is as it is for all transactions with the same id.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Id of the transaction.
    pub id: usize,
    pub progress: Progress,
    /// As in [`Snapshot`].
    pub incarnations: bool,
}

impl Known {
    pub fn read(txn: &RoTxn<'_, WithoutTls>, tables: &Tables) -> Result<Self, StoreError> {
        let progress = meta::read(&tables.meta, txn)?;
        Ok(Self { id: txn.id(), progress, incarnations: !tables.incarnations.is_empty(txn)? })
    }
}
