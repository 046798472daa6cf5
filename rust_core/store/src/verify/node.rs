//! Decoding of stored trie nodes (yellow paper, appendix D), independent of the crate that encodes them.

use alloy_primitives::B256;
use alloy_rlp::{Header, PayloadView};
use foreseal_keccak::keccak;

/// Content of a stored node. Paths are relative to its location.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Hash by which its parent references it.
    pub hash: B256,
    /// Path and hash of the children that are stored by themselves.
    pub children: Vec<(Vec<u8>, B256)>,
    pub leaves: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Node {
    /// Decodes a node. Returns `None` if the bytes are not one, or hold a
    /// branch that its extension does not reference.
    pub fn parse(stored: &[u8]) -> Option<Self> {
        let mut rest = stored;
        let header = Header::decode(&mut rest).ok()?;
        let (first, below) = stored.split_at_checked(stored.len() - rest.len() + header.payload_length)?;
        let mut node = Self { hash: keccak(first), ..Self::default() };
        if below.is_empty() {
            node.add(first, &mut Vec::new())?;
            // A branch under an extension must be stored with it.
            return (!is_extension(first)?).then_some(node);
        }
        let (path, child) = match items(first)?[..] {
            [path, child] => (nibbles(string(path)?)?, string(child)?),
            _ => return None,
        };
        let (leaf, mut path) = path;
        (!leaf && child == keccak(below).as_slice() && !is_extension(below)?).then_some(())?;
        node.add(below, &mut path)?;
        Some(node)
    }

    /// Adds the content of the RLP of a node at `path`.
    fn add(&mut self, rlp: &[u8], path: &mut Vec<u8>) -> Option<()> {
        let depth = path.len();
        match items(rlp)?[..] {
            [tail, item] => {
                let (leaf, tail) = nibbles(string(tail)?)?;
                path.extend_from_slice(&tail);
                if leaf {
                    self.leaves.push((path.clone(), string(item)?.to_vec()));
                } else {
                    self.add_child(item, path)?;
                }
            }
            ref all if all.len() == 17 => {
                for (nibble, item) in (0..16).zip(all) {
                    if **item != [alloy_rlp::EMPTY_STRING_CODE] {
                        path.push(nibble);
                        self.add_child(item, path)?;
                        path.truncate(depth);
                    }
                }
                let value = string(all[16])?;
                if !value.is_empty() {
                    self.leaves.push((path.clone(), value.to_vec()));
                }
            }
            _ => return None,
        }
        path.truncate(depth);
        Some(())
    }

    /// Adds a child, which its parent references by hash or holds inline.
    fn add_child(&mut self, item: &[u8], path: &mut Vec<u8>) -> Option<()> {
        if item.first()? >= &alloy_rlp::EMPTY_LIST_CODE {
            return self.add(item, path);
        }
        self.children.push((path.clone(), B256::try_from(string(item)?).ok()?));
        Some(())
    }
}

/// Returns `true` if a node is an extension of a branch that it references by hash.
fn is_extension(rlp: &[u8]) -> Option<bool> {
    match items(rlp)?[..] {
        [path, child] => {
            Some(!nibbles(string(path)?)?.0 && string(child).is_some_and(|hash| hash.len() == 32))
        }
        _ => Some(false),
    }
}

fn items(mut rlp: &[u8]) -> Option<Vec<&[u8]>> {
    match Header::decode_raw(&mut rlp).ok()? {
        PayloadView::List(items) if rlp.is_empty() => Some(items),
        _ => None,
    }
}

fn string(mut item: &[u8]) -> Option<&[u8]> {
    let bytes = Header::decode_bytes(&mut item, false).ok()?;
    item.is_empty().then_some(bytes)
}

/// Decodes a compact path: `true` if it belongs to a leaf, and its nibbles.
fn nibbles(path: &[u8]) -> Option<(bool, Vec<u8>)> {
    let (flags, rest) = path.split_first()?;
    let odd = (flags & 0x10 != 0).then_some(flags & 0x0f);
    let rest = rest.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    Some((flags & 0x20 != 0, odd.into_iter().chain(rest).collect()))
}
