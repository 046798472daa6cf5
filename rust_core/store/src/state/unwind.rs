//! Taking back what a block wrote.

use heed::RwTxn;

use super::{changes::AccountKeys, keys};
use crate::{StoreError, pieces, snapshot::Snapshot, table::Tables};

/// Removes the versions that a block made. Blocks behind it are gone already.
pub(crate) fn unwind_block(txn: &mut RwTxn<'_>, tables: &Tables, number: u64) -> Result<(), StoreError> {
    let keys = Snapshot::new(txn, tables).state_keys(number)?;
    for AccountKeys { address, incarnation, renewed, slots } in keys.accounts {
        let key = keys::account(&address, number);
        tables.accounts.delete(txn, &key)?;
        if renewed {
            tables.incarnations.delete(txn, &key)?;
        }
        for slot in slots {
            tables.slots.delete(txn, &keys::slot(&address, incarnation, &slot, number))?;
        }
    }
    for hash in keys.codes {
        tables.codes.delete(txn, hash.as_slice())?;
    }
    pieces::remove(txn, &tables.state_changes, number)
}
