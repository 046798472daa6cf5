//! Unwinding more blocks than the proof window has: the node versions that
//! the new head needs are no longer stored.
//!
//! The current tries are complete, and so are the flat values as of the new head.
//! Applying the values that differ to the current tries, in reverse, yields the nodes
//! that differ; all other nodes are the current ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_primitives::{Address, U256};
use foreseal_primitives::{AccountDiff, ChangedAccount, StateDiff};
use foreseal_state::{State, StateChanges, StateError};
use heed::RwTxn;

use crate::{
    error::StoreError,
    key,
    nodes::{
        node_key::{self, Kind},
        replace_versions,
    },
    read_transaction::ReadTransaction,
    reader::Reader,
    table::{Table, Tables},
};

/// Number of locations whose versions are processed between writes.
const PORTION: usize = 10_000;

/// Returns the node changes that lead from the state as of `head` back to the state as of `to`.
pub(crate) fn rewind_nodes(reader: &Reader, to: u64, head: u64) -> Result<StateChanges, StoreError> {
    let (diff, then_root, now_root) = reader.read(|read_txn, _| {
        let root = |number| Ok::<_, StoreError>(read_txn.existing_record(number)?.1.header.state_root);
        Ok((rewind_diff(read_txn, to, head)?, root(to)?, root(head)?))
    })?;
    let failed = |error| match error {
        StateError::ViewGone => StoreError::ViewGone,
        error => StoreError::State(error.to_string()),
    };
    let current = State::from_store(Arc::new(reader.clone()), head, now_root);
    let earlier = current.apply(&diff).map_err(failed)?;
    if earlier.root() != then_root {
        let why = "the state as of this block does not have the root that its header says";
        return Err(StoreError::damaged("headers", &key::number(to), why));
    }
    earlier.changes_since(&current).map_err(failed)
}

/// Returns the diff that leads from the state as of `head` back to the state as of `to`.
fn rewind_diff(read_txn: &ReadTransaction<'_>, to: u64, head: u64) -> Result<StateDiff, StoreError> {
    let mut touched: BTreeMap<Address, BTreeSet<U256>> = BTreeMap::new();
    for number in to + 1..=head {
        for keys in read_txn.state_keys(number)?.accounts {
            touched.entry(keys.address).or_default().extend(keys.slots);
        }
    }
    let mut diff = StateDiff::default();
    for (address, slots) in touched {
        let account = read_txn.account(&address, to)?;
        let incarnation = read_txn.incarnation(&address, to)?;
        let wiped = incarnation != read_txn.incarnation(&address, head)?
            || read_txn.account(&address, head)?.is_none();
        let mut storage = Vec::new();
        if wiped {
            while let Some(next) =
                read_txn.next_slot(&address, incarnation, storage.last().map(|(slot, _)| *slot), to)?
            {
                storage.push(next);
            }
        } else {
            for slot in slots {
                storage.push((slot, read_txn.slot(&address, &slot, to)?));
            }
        }
        diff.accounts.push(ChangedAccount { address, diff: AccountDiff { account, wiped, storage } });
    }
    Ok(diff)
}

/// Leaves one version of each node, as of block `to`. `changes` holds the changes from the newest versions.
pub(crate) fn rewind(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    to: u64,
    changes: &StateChanges,
) -> Result<(), StoreError> {
    for kind in Kind::ALL {
        let table = kind.table(tables);
        let mut behind = Vec::new();
        while let Some(last) = retain_newest(txn, table, to, &behind)? {
            behind = node_key::end(&last);
        }
    }
    replace_versions(txn, tables, to, changes)?;
    tables.node_changes.clear(txn)
}

/// Keeps only the newest version of up to [`PORTION`] locations after the key `behind`, as a version of block
/// `to` if it is newer. Returns the last of these locations; `None` at the end of the table.
fn retain_newest(
    txn: &mut RwTxn<'_>,
    table: &Table,
    to: u64,
    behind: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut dead: Vec<Vec<u8>> = Vec::new();
    let mut moved: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let (mut last, mut places): (Option<Vec<u8>>, usize) = (None, 0);
    for entry in table.from(txn, behind)? {
        let (key, value) = entry?;
        let (path_key, number) = node_key::split(table, key)?;
        let newest = last.as_deref() != Some(path_key);
        if newest {
            if places == PORTION {
                break;
            }
            places += 1;
            last = Some(path_key.to_vec());
            if !value.is_empty() && number > to {
                moved.push((node_key::key(path_key, to), value.to_vec()));
            }
        }
        if !newest || value.is_empty() || number > to {
            dead.push(key.to_vec());
        }
    }
    for key in dead {
        table.delete(txn, &key)?;
    }
    for (key, value) in moved {
        table.put(txn, &key, &value)?;
    }
    Ok(last)
}
