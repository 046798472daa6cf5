//! The trie as defined in the yellow paper's appendix D: recursive, rebuilt each time, with any keys.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use alloy_rlp::Encodable;

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

type Pair = (Vec<u8>, Vec<u8>);

pub fn root(model: &Model) -> B256 {
    let nibbles = |key: &[u8]| key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    let pairs: Vec<Pair> = model.iter().map(|(key, value)| (nibbles(key), value.clone())).collect();
    if pairs.is_empty() { keccak256([0x80]) } else { keccak256(node(&pairs, 0)) }
}

fn node(pairs: &[Pair], depth: usize) -> Vec<u8> {
    if let [(key, value)] = pairs {
        return list(&[string(&compact(&key[depth..], 2)), string(value)]);
    }
    let first = &pairs[0].0;
    let shared = pairs.iter().map(|(key, _)| key.iter().zip(first).take_while(|(a, b)| a == b).count());
    let shared = shared.min().unwrap_or(0);
    if shared > depth {
        return list(&[string(&compact(&first[depth..shared], 0)), reference(pairs, shared)]);
    }
    let mut items: Vec<Vec<u8>> = Vec::new();
    for nibble in 0..16 {
        let below: Vec<Pair> = pairs.iter().filter(|(k, _)| k.get(depth) == Some(&nibble)).cloned().collect();
        items.push(if below.is_empty() { string(&[]) } else { reference(&below, depth + 1) });
    }
    let own = pairs.iter().find(|(key, _)| key.len() == depth).map(|(_, value)| value.as_slice());
    items.push(string(own.unwrap_or_default()));
    list(&items)
}

fn reference(pairs: &[Pair], depth: usize) -> Vec<u8> {
    let rlp = node(pairs, depth);
    if rlp.len() < 32 { rlp } else { string(keccak256(rlp).as_slice()) }
}

fn compact(nibbles: &[u8], flag: u8) -> Vec<u8> {
    let odd = nibbles.len() % 2 == 1;
    let mut all = if odd { vec![flag + 1] } else { vec![flag, 0] };
    all.extend(nibbles);
    all.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    bytes.encode(&mut out);
    out
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let payload = items.concat();
    let mut out = Vec::new();
    alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    out
}

/// Follows a proof from the root and returns the value that it proves for the
/// key, if any. Panics on an invalid proof.
#[allow(dead_code, reason = "not every test has proofs")]
pub fn proved(root: B256, key: &[u8], proof: &[alloy_primitives::Bytes]) -> Option<Vec<u8>> {
    let path: Vec<u8> = key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    let mut proof = proof.iter();
    let mut rest = path.as_slice();
    let mut next = string(root.as_slice());
    if proof.len() == 0 {
        assert_eq!(root, keccak256([0x80]), "no proof but of an empty trie");
        return None;
    }
    while !next.is_empty() && next != [0x80] {
        let rlp = if next[0] < 0xc0 {
            let rlp = proof.next().expect("a node is missing").to_vec();
            assert_eq!(
                string(keccak256(&rlp).as_slice()),
                next,
                "a node is not the one that its parent names"
            );
            rlp
        } else {
            std::mem::take(&mut next)
        };
        let items = items(&rlp);
        if let [compact_path, below] = items.as_slice() {
            let packed = payload(compact_path);
            let nibbles: Vec<u8> = packed.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
            let own = &nibbles[if nibbles[0] % 2 == 1 { 1 } else { 2 }..];
            let is_leaf = nibbles[0] >= 2;
            let Some(tail) = rest.strip_prefix(own) else { break };
            rest = tail;
            if is_leaf {
                assert!(proof.next().is_none(), "nodes behind a leaf");
                return rest.is_empty().then(|| payload(below));
            }
            next.clone_from(below);
        } else if let Some((nibble, tail)) = rest.split_first() {
            next.clone_from(&items[usize::from(*nibble)]);
            rest = tail;
        } else {
            assert!(proof.next().is_none(), "nodes behind the key's end");
            return Some(payload(&items[16])).filter(|value| !value.is_empty());
        }
    }
    assert!(proof.next().is_none(), "nodes behind the place where the key leaves the trie");
    None
}

/// Returns the items of a list, each with its header.
fn items(rlp: &[u8]) -> Vec<Vec<u8>> {
    let mut buf = rlp;
    let header = alloy_rlp::Header::decode(&mut buf).expect("a node is RLP");
    assert!(header.list && header.payload_length == buf.len(), "a node is one list");
    let mut items = Vec::new();
    while !buf.is_empty() {
        let mut after = buf;
        let header = alloy_rlp::Header::decode(&mut after).expect("an item is RLP");
        let length = buf.len() - after.len() + header.payload_length;
        items.push(buf[..length].to_vec());
        buf = &buf[length..];
    }
    items
}

fn payload(item: &[u8]) -> Vec<u8> {
    let mut buf = item;
    let header = alloy_rlp::Header::decode(&mut buf).expect("an item is RLP");
    buf[..header.payload_length].to_vec()
}
