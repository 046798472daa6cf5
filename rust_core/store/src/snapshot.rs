//! What a transaction sees.

use heed::{RoTxn, WithoutTls};

use crate::table::Tables;

/// A transaction and the tables that are read in it; the reads are in the modules of what they read.
///
/// Of a transaction that writes it sees what that has written so far.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot<'s> {
    pub txn: &'s RoTxn<'s, WithoutTls>,
    pub tables: &'s Tables,
}
