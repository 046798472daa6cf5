//! Chains that stock op-node and op-geth built, with what op-geth answered about them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use alloy_consensus::Header;
use alloy_genesis::Genesis;
use alloy_primitives::{B256, Bytes};
use alloy_rlp::Decodable;
use foreseal_primitives::{BlockBytes, Transaction, parse_genesis};
use ruzstd::decoding::StreamingDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::vectors;

const NAMES: [&str; 3] = ["jovian", "karst", "karst-reorg"];

/// A recorded chain.
pub struct ChainRecording {
    pub name: &'static str,
    pub genesis: Genesis,
    /// Blocks after genesis: recorded headers with the transactions of the recorded payloads.
    pub blocks: Vec<BlockBytes>,
    /// Answers of op-geth; `blocks` begins with genesis.
    pub expected: Value,
}

impl ChainRecording {
    /// Reads every recorded chain in turn. Prints a line, and returns none, if the recordings are not available.
    ///
    /// # Panics
    /// Panics if a recording is damaged.
    pub fn read_all() -> impl Iterator<Item = Self> {
        let folder = vectors::find("optimism");
        folder.into_iter().flat_map(|folder| NAMES.into_iter().map(move |name| Self::read(&folder, name)))
    }

    fn read(folder: &Path, name: &'static str) -> Self {
        let genesis = std::fs::read_to_string(folder.join(format!("genesis-{name}.json")))
            .expect("a recording has a genesis");
        let expected: Value =
            serde_json::from_reader(decompressed(&folder.join(format!("expect-{name}.json.zst"))))
                .expect("a recording has expectations");
        let payloads = recorded_payloads(&folder.join(format!("verifier-{name}.jsonl.zst")));
        let recorded = expected["blocks"].as_array().expect("expectations have blocks");
        let blocks = recorded.iter().skip(1).map(|block| block_bytes(block, &payloads)).collect();
        let genesis = parse_genesis(&genesis).expect("the genesis is valid");
        Self { name, genesis, blocks, expected }
    }
}

/// Returns the recorded block of an expectation, with the transactions of its payload.
fn block_bytes(expected: &Value, payloads: &BTreeMap<B256, Vec<Bytes>>) -> BlockBytes {
    let raw: Bytes = read_field(expected, "rawHeader");
    let header = Header::decode(&mut raw.as_ref()).expect("the header is valid");
    let decode = |raw: &Bytes| Transaction::decode_envelope(raw).expect("the transaction is valid");
    let transactions = payloads[&header.hash_slow()].iter().map(decode).collect();
    BlockBytes { header, transactions, uncles: Vec::new(), withdrawals: Some(Vec::new().into()) }
}

/// Returns the transactions of each payload of a recording by block hash.
fn recorded_payloads(path: &Path) -> BTreeMap<B256, Vec<Bytes>> {
    let mut payloads = BTreeMap::new();
    for line in BufReader::new(decompressed(path)).lines() {
        let line = line.expect("the recording can be read");
        let exchange: Value = serde_json::from_str(&line).expect("each line is JSON");
        let request = &exchange["request"];
        if request["method"] == "engine_newPayloadV4" {
            let payload = &request["params"][0];
            payloads.insert(read_field(payload, "blockHash"), read_field(payload, "transactions"));
        }
    }
    payloads
}

fn read_field<T: DeserializeOwned>(object: &Value, name: &str) -> T {
    T::deserialize(&object[name]).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn decompressed(path: &Path) -> impl Read + use<> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    StreamingDecoder::new(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
