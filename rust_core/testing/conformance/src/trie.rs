//! TrieTests: roots, and the order of keys.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, hex, keccak256};
use foreseal_trie::{ByteTrie, InMemory, Key};
use serde::Deserialize;

use crate::{Case, case::same, source::VectorFile};

#[derive(Deserialize)]
#[serde(untagged)]
enum Test {
    Root {
        #[serde(rename = "in")]
        input: Input,
        root: B256,
    },
    Order {
        #[serde(rename = "in")]
        keys: Vec<String>,
        /// Key, previous key, next key.
        tests: Vec<[String; 3]>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    AnyOrder(BTreeMap<String, String>),
    InOrder(Vec<(String, Option<String>)>),
}

pub fn run(file: &VectorFile) -> Result<Vec<Case>, serde_json::Error> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(&file.bytes)?;
    let secure = file.name.to_lowercase().contains("secure");
    let judged = tests.into_iter().map(|(name, test)| {
        let outcome = match test {
            Test::Root { input, root } => judge_root(input, root, secure),
            Test::Order { keys, tests } => judge_order(&keys, &tests),
        };
        Case::new(&file.name, &name).outcome(outcome)
    });
    Ok(judged.collect())
}

fn judge_root(input: Input, expected: B256, secure: bool) -> Result<(), String> {
    let pairs = match input {
        Input::AnyOrder(pairs) => pairs.into_iter().map(|(key, value)| (key, Some(value))).collect(),
        Input::InOrder(pairs) => pairs,
    };
    let mut at_once = ByteTrie::default();
    let mut stepwise = ByteTrie::default();
    for (key, value) in pairs {
        let mut key = bytes(&key)?;
        if secure {
            key = keccak256(key).to_vec();
        }
        let value = value.map_or(Ok(Vec::new()), |value| bytes(&value))?;
        for trie in [&mut at_once, &mut stepwise] {
            trie.set(&key, value.clone()).map_err(|error| error.to_string())?;
        }
        stepwise.root();
    }
    same("root", &expected, &at_once.root())?;
    same("root after single changes", &expected, &stepwise.root())
}

fn judge_order(keys: &[String], tests: &[[String; 3]]) -> Result<(), String> {
    let mut trie = ByteTrie::default();
    for key in keys {
        trie.set(key.as_bytes(), Bytes::from_static(b"x")).map_err(|error| error.to_string())?;
    }
    let pairs = trie.current_trie().iter(InMemory);
    let keys: Vec<Key> = pairs
        .map(|pair| pair.map(|(key, _)| key))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    for [key, before, after] in tests {
        let previous = keys.iter().map(Key::as_slice).take_while(|k| *k < key.as_bytes()).last();
        let next = keys.iter().map(Key::as_slice).find(|k| *k > key.as_bytes());
        for (what, expected, got) in [("before", before, previous), ("after", after, next)] {
            let got = String::from_utf8_lossy(got.unwrap_or_default());
            same(&format!("key {what} {key:?}"), &expected.as_str(), &got.as_ref())?;
        }
    }
    Ok(())
}

/// Decodes hex if the text starts with `0x`; otherwise returns the bytes of the text.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    if text.starts_with("0x") {
        hex::decode(text).map_err(|error| error.to_string())
    } else {
        Ok(text.as_bytes().to_vec())
    }
}
