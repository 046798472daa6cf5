//! Lists of the nodes that each block wrote, used to unwind it and to drop the nodes that it removed.

use alloy_primitives::Bytes;
use alloy_rlp::{RlpDecodable, RlpEncodable};

use super::node_key::Kind;
use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// Effect of a block on a node location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKeyChange {
    Stored,
    /// No node is at the location any more.
    Removed,
    /// No node is at the location or below it any more.
    Cleared,
}

/// A node location that a block wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedNode {
    pub location: Vec<u8>,
    pub change: NodeKeyChange,
}

/// The node locations that a block wrote, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeKeys {
    pub accounts: Vec<ChangedNode>,
    pub storages: Vec<ChangedNode>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Wire {
    accounts: Bytes,
    storages: Bytes,
}

/// Flag in the first byte of an entry: no node is at the location. In the second byte: nor below it.
const FLAG: u8 = 0x80;

impl NodeKeys {
    pub fn changed(&self, kind: Kind) -> &[ChangedNode] {
        match kind {
            Kind::Accounts => &self.accounts,
            Kind::Storages => &self.storages,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        alloy_rlp::encode(Wire { accounts: join(&self.accounts), storages: join(&self.storages) })
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let wire: Wire = alloy_rlp::decode_exact(bytes).ok()?;
        Some(Self { accounts: split(&wire.accounts)?, storages: split(&wire.storages)? })
    }
}

/// Encodes locations, each as the number of bytes shared with the previous
/// one, the number of further bytes, and these.
fn join(changes: &[ChangedNode]) -> Bytes {
    let (mut out, mut before): (_, &[u8]) = (Vec::new(), &[]);
    let length = |length: usize| u8::try_from(length).expect("a place has at most 96 bytes");
    for ChangedNode { location, change } in changes {
        let shared = location.iter().zip(before).take_while(|(a, b)| a == b).count();
        let absent = if *change == NodeKeyChange::Stored { 0 } else { FLAG };
        let cleared = if *change == NodeKeyChange::Cleared { FLAG } else { 0 };
        out.extend([length(shared) | absent, length(location.len() - shared) | cleared]);
        out.extend_from_slice(&location[shared..]);
        before = location;
    }
    out.into()
}

fn split(mut bytes: &[u8]) -> Option<Vec<ChangedNode>> {
    let (mut changes, mut path_key): (_, Vec<u8>) = (Vec::new(), Vec::new());
    while let Some((&[shared, rest], after)) = bytes.split_first_chunk() {
        let change = match (shared & FLAG != 0, rest & FLAG != 0) {
            (false, false) => NodeKeyChange::Stored,
            (true, false) => NodeKeyChange::Removed,
            (true, true) => NodeKeyChange::Cleared,
            (false, true) => return None,
        };
        let (own, after) = after.split_at_checked(usize::from(rest & !FLAG))?;
        let shared = usize::from(shared & !FLAG);
        if shared > path_key.len() {
            return None;
        }
        path_key.truncate(shared);
        path_key.extend_from_slice(own);
        changes.push(ChangedNode { location: path_key.clone(), change });
        bytes = after;
    }
    bytes.is_empty().then_some(changes)
}

impl ReadTransaction<'_> {
    /// Returns the locations that a block wrote; none for genesis and for blocks that left the window.
    pub fn node_keys(&self, number: u64) -> Result<NodeKeys, StoreError> {
        let table = &self.tables.node_changes;
        let bytes = self.chunks(table, number)?;
        if bytes.is_empty() {
            return Ok(NodeKeys::default());
        }
        let damaged = || table.damaged(&key::number(number), "the list of changes does not decode");
        NodeKeys::decode(&bytes).ok_or_else(damaged)
    }
}
