//! Verification of Merkle proofs, without a trie.

use alloy_primitives::{B256, Bytes};
use alloy_rlp::{Header, PayloadView};
use foreseal_keccak::keccak;

use crate::{
    decode::{hex_prefix, string},
    trie::EMPTY_ROOT,
};

/// Reasons for which a proof is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("node {index} does not have the hash that leads to it")]
    Hash { index: usize },
    #[error("node {index} is not the RLP of a trie node")]
    Malformed { index: usize },
    #[error("it ends before the key is decided")]
    Short,
    #[error("{count} nodes follow the one that decides the key")]
    Extra { count: usize },
}

/// Returns the value under `key` that `proof` proves for the trie with `root`; `None` if it proves the
/// absence of a value. `proof` holds the nodes from the root towards `key`, as
/// [`Trie::prove`](crate::Trie::prove) returns them.
///
/// # Errors
/// Returns an error if the proof shows neither.
pub fn verify_proof<N: AsRef<[u8]>>(
    root: B256,
    key: &[u8],
    proof: &[N],
) -> Result<Option<Bytes>, ProofError> {
    if root == EMPTY_ROOT && proof.iter().all(|node| node.as_ref() == [alloy_rlp::EMPTY_STRING_CODE]) {
        return Ok(None); // some provers send the empty trie's one node, some send nothing
    }
    let path: Vec<u8> = key.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).collect();
    let mut rest = &path[..];
    let mut next = Next::Hash(root);
    let mut index = 0;
    loop {
        let node = match next {
            Next::Hash(hash) => {
                let node = proof.get(index).ok_or(ProofError::Short)?.as_ref();
                if keccak(node) != hash {
                    return Err(ProofError::Hash { index });
                }
                index += 1;
                node
            }
            Next::Inline(node) => node,
            Next::Decided(value) => {
                let count = proof.len() - index;
                let value = value.map(Bytes::copy_from_slice);
                return if count == 0 { Ok(value) } else { Err(ProofError::Extra { count }) };
            }
        };
        next = follow(node, &mut rest).ok_or(ProofError::Malformed { index: index - 1 })?;
    }
}

/// The result of following a key through one node.
enum Next<'a> {
    Hash(B256),
    /// A node shorter than 32 bytes, stored inside its parent.
    Inline(&'a [u8]),
    Decided(Option<&'a [u8]>),
}

/// Follows `rest` through a node and removes the nibbles that the node
/// consumes. Returns `None` if it is not a node.
fn follow<'a>(node: &'a [u8], rest: &mut &[u8]) -> Option<Next<'a>> {
    let mut buf = node;
    let PayloadView::List(items) = Header::decode_raw(&mut buf).ok()? else {
        return None;
    };
    match items[..] {
        [path, item] => {
            let (leaf, nibbles) = hex_prefix(string(path)?)?;
            match (leaf, rest.strip_prefix(&nibbles[..])) {
                (true, Some([])) => Some(Next::Decided(Some(string(item)?))),
                (true, _) | (false, None) => Some(Next::Decided(None)),
                (false, Some(after)) => {
                    *rest = after;
                    child(item)
                }
            }
        }
        [.., value] if items.len() == 17 => {
            let Some((nibble, after)) = rest.split_first() else {
                return Some(Next::Decided(Some(string(value)?).filter(|value| !value.is_empty())));
            };
            *rest = after;
            child(items[usize::from(*nibble)])
        }
        _ => None,
    }
}

fn child(item: &[u8]) -> Option<Next<'_>> {
    if item.first().is_some_and(|byte| *byte >= alloy_rlp::EMPTY_LIST_CODE) {
        return Some(Next::Inline(item));
    }
    match string(item)? {
        [] => Some(Next::Decided(None)),
        hash => B256::try_from(hash).ok().map(Next::Hash),
    }
}
