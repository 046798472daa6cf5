//! A read transaction of the database.

use heed::{RoTxn, WithoutTls};

use crate::{error::StoreError, meta, meta::Progress, table::Tables};

/// A read transaction and the tables that it reads. The read methods are
/// in the modules of the data that they read.
///
/// It can also be made of a write transaction: reads then include its uncommitted writes.
#[derive(Clone, Copy)]
pub(crate) struct ReadTransaction<'s> {
    pub txn: &'s RoTxn<'s, WithoutTls>,
    pub tables: &'s Tables,
    /// `true` if incarnations may exist: the storage of some account may have been dropped.
    pub incarnations: bool,
}

impl<'s> ReadTransaction<'s> {
    /// Returns the reads of any transaction. They assume that incarnations may exist.
    pub fn new(txn: &'s RoTxn<'s, WithoutTls>, tables: &'s Tables) -> Self {
        Self { txn, tables, incarnations: true }
    }
}

/// Data that every read needs first. It is the same for all transactions with the same id.
#[derive(Clone, Copy)]
pub(crate) struct TransactionInfo {
    /// Id of the transaction.
    pub id: usize,
    pub progress: Progress,
    /// Same as [`ReadTransaction::incarnations`].
    pub incarnations: bool,
}

impl TransactionInfo {
    pub fn read(txn: &RoTxn<'_, WithoutTls>, tables: &Tables) -> Result<Self, StoreError> {
        let progress = meta::read(&tables.meta, txn)?;
        Ok(Self { id: txn.id(), progress, incarnations: !tables.incarnations.is_empty(txn)? })
    }
}
