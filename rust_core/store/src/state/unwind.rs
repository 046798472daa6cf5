//! Unwinding the state changes of a block.

use heed::RwTxn;

use super::{changes::AccountKeys, keys};
use crate::{chunks, error::StoreError, read_transaction::ReadTransaction, table::Tables};

/// Removes the versions that a block wrote. Later blocks are already removed.
pub(crate) fn unwind_block(txn: &mut RwTxn<'_>, tables: &Tables, number: u64) -> Result<(), StoreError> {
    let keys = ReadTransaction::new(txn, tables).state_keys(number)?;
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
    chunks::remove(txn, &tables.state_changes, number)
}
