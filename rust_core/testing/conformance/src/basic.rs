//! BasicTests: the genesis block, hex-prefix paths of trie nodes, keys and signatures.

use std::collections::BTreeMap;

use alloy_consensus::{SignableTransaction, TxLegacy, crypto::secp256k1};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex, keccak256};
use foreseal_primitives::{BlockBytes, SignedEnvelope, Transaction};
use foreseal_trie::ByteTrie;
use serde::Deserialize;

use crate::{Case, case::same, rlp::Item, source::VectorFile};

#[derive(Deserialize)]
#[serde(untagged)]
enum Tests {
    Genesis { genesis_rlp_hex: Bytes, genesis_state_root: B256, genesis_hash: B256 },
    Keys(Vec<KeyTest>),
    Transactions(Vec<TransactionTest>),
    Paths(BTreeMap<String, PathTest>),
}

#[derive(Deserialize)]
struct PathTest {
    /// Nibbles of the path.
    seq: Vec<u8>,
    /// `true` if the path ends in a leaf.
    term: bool,
    /// Hex-prefix (compact) encoding of the path (yellow paper, appendix C).
    out: Bytes,
}

#[derive(Deserialize)]
struct KeyTest {
    seed: String,
    key: B256,
    addr: Address,
}

#[derive(Deserialize)]
struct TransactionTest {
    key: B256,
    nonce: u64,
    gasprice: u64,
    startgas: u64,
    to: String,
    value: u64,
    data: Bytes,
    unsigned: Bytes,
    signed: Bytes,
}

pub fn run(file: &VectorFile) -> Result<Vec<Case>, serde_json::Error> {
    let judged: Vec<(String, Result<(), String>)> = match serde_json::from_slice(&file.bytes)? {
        Tests::Genesis { genesis_rlp_hex, genesis_state_root, genesis_hash } => {
            judge_genesis(&genesis_rlp_hex, genesis_state_root, genesis_hash)
        }
        Tests::Keys(tests) => tests.iter().map(|test| (test.seed.clone(), judge_key(test))).collect(),
        Tests::Transactions(tests) => tests
            .iter()
            .enumerate()
            .map(|(index, test)| (index.to_string(), judge_transaction(test)))
            .collect(),
        Tests::Paths(tests) => tests.into_iter().map(|(name, test)| (name, judge_path(&test))).collect(),
    };
    Ok(judged.into_iter().map(|(name, outcome)| Case::new(&file.name, &name).outcome(outcome)).collect())
}

/// Returns one case for each value in the file.
fn judge_genesis(rlp: &[u8], state_root: B256, hash: B256) -> Vec<(String, Result<(), String>)> {
    let block = alloy_rlp::decode_exact::<BlockBytes>(rlp).map_err(|error| error.to_string());
    let of =
        |judge: &dyn Fn(&BlockBytes) -> Result<(), String>| block.clone().and_then(|block| judge(&block));
    let encoded = of(&|block| same("encoding", &hex::encode(rlp), &hex::encode(alloy_rlp::encode(block))));
    let root = of(&|block| same("stateRoot", &state_root, &block.header.state_root));
    let hashed = of(&|block| same("hash", &hash, &block.header.hash_slow()));
    vec![
        ("genesis_rlp_hex".to_owned(), encoded),
        ("genesis_state_root".to_owned(), root),
        ("genesis_hash".to_owned(), hashed),
    ]
}

/// Checks the hex-prefix encoding of a path.
///
/// The encoding is private to the trie's nodes, so this builds a trie that contains the path.
fn judge_path(test: &PathTest) -> Result<(), String> {
    let mut trie = ByteTrie::default();
    // A value this long prevents inlining the node in its parent.
    let value = Bytes::from_static(&[0xee; 40]);
    let odd = test.seq.len() % 2 == 1;
    // The path of a leaf is the key, or the key after a branch on its first nibble. The path of an extension
    // is the prefix that two keys share.
    let (mut first, mut second) = (test.seq.clone(), test.seq.clone());
    match (test.term, odd) {
        (true, false) => second.clear(),
        (true, true) => {
            first.insert(0, 1);
            second.insert(0, 2);
        }
        (false, true) => {
            first.push(1);
            second.push(2);
        }
        (false, false) => {
            first.extend([1, 0]);
            second.extend([2, 0]);
        }
    }
    for nibbles in [&first, &second].into_iter().filter(|nibbles| !nibbles.is_empty()) {
        let key: Vec<u8> = nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        trie.set(&key, value.clone()).map_err(|error| error.to_string())?;
    }
    let key: Vec<u8> = first.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let nodes = trie.prove(&key);
    let node = if test.term { nodes.last() } else { nodes.first() };
    let node = node.ok_or("no proof")?;
    match Item::decode(node).map_err(|error| error.to_string())? {
        Item::List(items) => match items.first() {
            Some(Item::String(path)) => same("path", &hex::encode(&test.out), &hex::encode(path)),
            _ => Err("the node has no path".to_owned()),
        },
        Item::String(_) => Err("the node is no list".to_owned()),
    }
}

/// Checks the key and the address.
///
/// The file also has a `sig_of_emptystring`, which is skipped: it verifies against the key for no hash of an
/// empty message (keccak-256, SHA-256, SHA-3, signed-message prefixes). Other clients skip it too.
fn judge_key(test: &KeyTest) -> Result<(), String> {
    same("key", &test.key, &keccak256(&test.seed))?;
    same("address", &test.addr, &address(test.key)?)
}

/// Returns the address of a key, recovered from a signature by it.
fn address(key: B256) -> Result<Address, String> {
    let message = keccak256([]);
    let signature = secp256k1::sign_message(key, message).map_err(|error| error.to_string())?;
    secp256k1::recover_signer_unchecked(&signature, message).map_err(|error| error.to_string())
}

fn judge_transaction(test: &TransactionTest) -> Result<(), String> {
    let to = hex::decode(&test.to).map_err(|error| error.to_string())?;
    let number = |value: u64| Item::String(U256::from(value).to_be_bytes_trimmed_vec());
    let empty = || Item::String(Vec::new());
    let unsigned = Item::List(vec![
        number(test.nonce),
        number(test.gasprice),
        number(test.startgas),
        Item::String(to.clone()),
        number(test.value),
        Item::String(test.data.to_vec()),
        empty(),
        empty(),
        empty(),
    ]);
    same("unsigned", &hex::encode(&test.unsigned), &hex::encode(alloy_rlp::encode(&unsigned)))?;
    let legacy = TxLegacy {
        chain_id: None,
        nonce: test.nonce,
        gas_price: u128::from(test.gasprice),
        gas_limit: test.startgas,
        to: if to.is_empty() { TxKind::Create } else { TxKind::Call(Address::from_slice(&to)) },
        value: U256::from(test.value),
        input: test.data.clone(),
    };
    let decoded = Transaction::decode(&test.signed).map_err(|error| error.to_string())?;
    same("sender", &address(test.key)?, &decoded.sender())?;
    let Some(SignedEnvelope::Legacy(signed)) = decoded.envelope().signed() else {
        return Err("not a legacy one".to_owned());
    };
    same("signing hash", &legacy.signature_hash(), &signed.tx().signature_hash())?;
    same("encoded again", &hex::encode(&test.signed), &hex::encode(decoded.encoded()))
}
