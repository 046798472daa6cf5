//! Verification of the trie nodes, in all versions that the proof window needs.
//!
//! For each node: its children exist with the referenced hashes as of its block, and its parent
//! references it. A node written inside the window must have a parent written by the same block, so
//! no block in between sees another node. Together with the roots, which are compared with the
//! headers, this covers every state of the window.

use alloy_primitives::{B256, hex};
use alloy_rlp::Decodable;
use foreseal_trie::EMPTY_ROOT;

use super::{
    PORTION, Verifier, fault,
    node::Node,
    readable,
    report::{Fault, StorePart},
    sound,
};
use crate::{
    error::StoreError,
    key,
    nodes::{
        changes::NodeKeyChange,
        node_key::{self, Kind},
    },
    read_transaction::ReadTransaction,
    table::Table,
};

/// Number of nibbles in a key.
const KEY: usize = 64;

impl Verifier<'_> {
    pub(super) fn nodes(&mut self) -> Result<(), StoreError> {
        self.roots()?;
        self.node_lists()?;
        for kind in Kind::ALL {
            let (mut done, mut next) = (0, Some(Vec::new()));
            while let Some(from) = next {
                let (reader, head) = (self.reader.clone(), self.head);
                let (portion, of) = reader.read(|read_txn, progress| {
                    let check = NodeCheck { read_txn: *read_txn, kind, oldest: progress.proofs_from, head };
                    let entries = kind.table(read_txn.tables).stat(read_txn.txn)?.entries as u64;
                    Ok((check.portion(&from)?, entries))
                })?;
                self.faults(portion.faults);
                done += portion.done;
                self.verified.nodes += portion.done;
                self.done(StorePart::Nodes, done, of)?;
                next = portion.next;
            }
        }
        Ok(())
    }

    /// Calls `look` for the blocks of the proof window, from `after` blocks after
    /// its first one, each in its own transaction.
    fn window(
        &mut self,
        after: u64,
        mut look: impl FnMut(&ReadTransaction<'_>, u64, &mut Vec<Fault>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut number, mut faults) = (after, Vec::new());
        while number <= self.head {
            let reader = self.reader.clone();
            number = reader.read(|read_txn, progress| {
                let number = number.max(progress.proofs_from + after);
                if number <= self.head {
                    look(read_txn, number, &mut faults)?;
                }
                Ok(number + 1)
            })?;
        }
        self.faults(faults);
        Ok(())
    }

    /// Verifies the nodes that the blocks of the window wrote, with their lists. The
    /// first block is only the base of the rest.
    fn node_lists(&mut self) -> Result<(), StoreError> {
        self.window(1, list_faults)
    }

    /// Verifies the root of every block of the window.
    fn roots(&mut self) -> Result<(), StoreError> {
        self.window(0, |read_txn, number, faults| {
            let Some((_, record)) = readable(read_txn.record(number))? else { return Ok(()) };
            let root = root_of(read_txn, Kind::Accounts, &[], number)?;
            if root != Some(record.header.state_root) {
                let table = &read_txn.tables.account_nodes;
                faults.push(fault(table, &node_key::key(&[], number), "the root is not that of the header"));
            }
            Ok(())
        })
    }
}

/// Returns the root of the trie at a location as of a block; `None` if the stored bytes are not a node.
fn root_of(
    read_txn: &ReadTransaction<'_>,
    kind: Kind,
    path_key: &[u8],
    at: u64,
) -> Result<Option<B256>, StoreError> {
    Ok(match read_txn.stored_node(kind, path_key, at)? {
        None => Some(EMPTY_ROOT),
        Some((_, stored)) => Node::parse(stored).map(|node| node.hash),
    })
}

/// Records the faults of a block's list.
fn list_faults(
    read_txn: &ReadTransaction<'_>,
    number: u64,
    faults: &mut Vec<Fault>,
) -> Result<(), StoreError> {
    let lists = &read_txn.tables.node_changes;
    let Some(keys) = sound(faults, read_txn.node_keys(number))? else { return Ok(()) };
    if lists.get(read_txn.txn, &key::block_item(number, 0))?.is_none() {
        faults.push(fault(lists, &key::number(number), "it is missing"));
        return Ok(());
    }
    for kind in Kind::ALL {
        let table = kind.table(read_txn.tables);
        for changed in keys.changed(kind) {
            let key = node_key::key(&changed.location, number);
            let stored = table.get(read_txn.txn, &key)?;
            if stored.map(<[u8]>::is_empty) != Some(changed.change != NodeKeyChange::Stored) {
                faults.push(fault(table, &key, "it differs from the list of its block"));
            }
        }
    }
    Ok(())
}

/// Result for a portion of a table.
#[derive(Default)]
struct PortionResult {
    faults: Vec<Fault>,
    done: u64,
    /// Key at which the next portion begins.
    next: Option<Vec<u8>>,
}

struct NodeCheck<'s> {
    read_txn: ReadTransaction<'s>,
    kind: Kind,
    oldest: u64,
    head: u64,
}

impl NodeCheck<'_> {
    fn table(&self) -> &Table {
        self.kind.table(self.read_txn.tables)
    }

    fn portion(&self, from: &[u8]) -> Result<PortionResult, StoreError> {
        let mut portion = PortionResult::default();
        let (mut last, mut old_seen): (Option<&[u8]>, bool) = (None, false);
        for entry in self.table().from(self.read_txn.txn, from)? {
            let (key, stored) = entry?;
            let (path_key, number) = node_key::split(self.table(), key)?;
            if last != Some(path_key) {
                if portion.done >= PORTION as u64 {
                    portion.next = Some(key.to_vec());
                    break;
                }
                (last, old_seen) = (Some(path_key), false);
            }
            portion.done += 1;
            let old = number <= self.oldest;
            let needed = number <= self.head && !(old && old_seen);
            old_seen |= old;
            if needed {
                self.entry(key, path_key, number, stored, &mut portion.faults)?;
            }
        }
        Ok(portion)
    }

    fn entry(
        &self,
        key: &[u8],
        path_key: &[u8],
        number: u64,
        stored: &[u8],
        faults: &mut Vec<Fault>,
    ) -> Result<(), StoreError> {
        let Some((trie, path)) = self.split_key(path_key) else {
            faults.push(fault(self.table(), key, "the key is not the path of a node"));
            return Ok(());
        };
        // A node from before the window is needed as of the start of the window: nodes below it may be newer.
        let at = number.max(self.oldest);
        if stored.is_empty() {
            let named = match self.parent(trie, path, at)? {
                Some((_, parent, tail)) => parent.children.iter().any(|(below, _)| *below == tail),
                None => false,
            };
            if named {
                faults.push(fault(self.table(), key, "a node listed as removed is referenced by its parent"));
            }
            return Ok(());
        }
        let Some(node) = Node::parse(stored) else {
            faults.push(fault(self.table(), key, "it is not a trie node"));
            return Ok(());
        };
        for (tail, hash) in &node.children {
            let below = [path_key, tail].concat();
            if root_of(&self.read_txn, self.kind, &below, at)? != Some(*hash) {
                let why = format!("below {} the node that it names is missing or another", hex::encode(tail));
                faults.push(fault(self.table(), key, why));
            }
        }
        for (tail, value) in &node.leaves {
            if path.len() + tail.len() != KEY {
                faults.push(fault(self.table(), key, "a leaf's key does not have its length"));
            } else if self.kind == Kind::Accounts {
                let account = [path, tail].concat();
                faults.extend(self.storage_fault(key, &account, value, at)?);
            }
        }
        let named = if path.is_empty() {
            self.is_named_root(trie, &node, number, at)?
        } else {
            self.is_named_node(trie, path, &node, number, at)?
        };
        if !named {
            faults.push(fault(self.table(), key, "no node written with it references it"));
        }
        Ok(())
    }

    /// Splits a location into trie and path; returns `None` if it is not a valid location.
    fn split_key<'p>(&self, path_key: &'p [u8]) -> Option<(&'p [u8], &'p [u8])> {
        let (trie, path) = match self.kind {
            Kind::Accounts => (&path_key[..0], path_key),
            Kind::Storages => path_key.split_at_checked(32)?,
        };
        (path.len() <= KEY && path.iter().all(|nibble| *nibble < 16)).then_some((trie, path))
    }

    /// Returns the fault of the storage that an account's leaf references, if any.
    fn storage_fault(
        &self,
        key: &[u8],
        account: &[u8],
        value: &[u8],
        at: u64,
    ) -> Result<Option<Fault>, StoreError> {
        let Some(root) = storage_root(value) else {
            return Ok(Some(fault(self.table(), key, "a leaf does not hold an account")));
        };
        let hash: Vec<u8> = account.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let computed = root_of(&self.read_txn, Kind::Storages, &hash, at)?;
        Ok((computed != Some(root)).then(|| {
            let why = format!("the storage root of account hash {} is another", hex::encode(&hash));
            fault(self.table(), key, why)
        }))
    }

    /// Returns the nearest node above a path, the block that wrote it, and the rest of the path. Returns
    /// `None` if there is none, or if it does not decode.
    fn parent(&self, trie: &[u8], path: &[u8], at: u64) -> Result<Option<(u64, Node, Vec<u8>)>, StoreError> {
        for length in (0..path.len()).rev() {
            let path_key = [trie, &path[..length]].concat();
            if let Some((written, stored)) = self.read_txn.stored_node(self.kind, &path_key, at)? {
                return Ok(Node::parse(stored).map(|node| (written, node, path[length..].to_vec())));
            }
        }
        Ok(None)
    }

    /// Returns `true` if the nearest node above references this one. In the
    /// window, the same block must have written both.
    fn is_named_node(
        &self,
        trie: &[u8],
        path: &[u8],
        node: &Node,
        number: u64,
        at: u64,
    ) -> Result<bool, StoreError> {
        let Some((written, parent, tail)) = self.parent(trie, path, at)? else { return Ok(false) };
        let names = parent.children.iter().any(|(below, hash)| *below == tail && *hash == node.hash);
        Ok(names && (number <= self.oldest || written == number))
    }

    /// Returns `true` if a header, or an account's leaf, has this root.
    fn is_named_root(&self, trie: &[u8], node: &Node, number: u64, at: u64) -> Result<bool, StoreError> {
        if self.kind == Kind::Accounts {
            let record = readable(self.read_txn.record(at))?;
            return Ok(record.is_some_and(|(_, record)| record.header.state_root == node.hash));
        }
        let account: Vec<u8> = trie.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).collect();
        for length in (0..=KEY).rev() {
            let Some((written, stored)) =
                self.read_txn.stored_node(Kind::Accounts, &account[..length], at)?
            else {
                continue;
            };
            let Some(above) = Node::parse(stored) else { return Ok(false) };
            let leaf = above.leaves.iter().find(|(tail, _)| **tail == account[length..]);
            let named = leaf.and_then(|(_, value)| storage_root(value)) == Some(node.hash);
            return Ok(named && (number <= self.oldest || written == number));
        }
        Ok(false)
    }
}

/// Returns the storage root in the RLP of an account.
fn storage_root(mut value: &[u8]) -> Option<B256> {
    let [_, _, root, _]: [alloy_primitives::Bytes; 4] =
        Vec::<alloy_primitives::Bytes>::decode(&mut value).ok()?.try_into().ok()?;
    B256::try_from(root.as_ref()).ok()
}
