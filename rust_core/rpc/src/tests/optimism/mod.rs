//! Methods over the recorded OP chains, compared with what op-geth answered.
//!
//! The recordings are not part of this repository: without them the tests are skipped.

mod calls;
mod fees;
mod recorded_answers;
mod submissions;
mod traces;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes};
use alloy_rlp::{Decodable, Encodable};
use foreseal_journal::RealDisk;
use foreseal_node::import_chain;
use foreseal_primitives::{BlockBytes, Transaction, parse_genesis};
use serde_json::Value;

use super::{Bench, settings};
use crate::Limits;

const CHAINS: [&str; 3] = ["jovian", "karst", "karst-reorg"];

/// Returns the folder of the recordings in `FORESEAL_SHARED`, or in `shared` next to the repository.
fn folder() -> Option<PathBuf> {
    let shared = std::env::var_os("FORESEAL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = shared.join("vectors/optimism");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no recorded OP chains at {} (set FORESEAL_SHARED)", folder.display());
    None
}

fn decompressed(path: &Path) -> impl Read + use<> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    ruzstd::decoding::StreamingDecoder::new(file).unwrap()
}

/// A node that serves a recorded chain, and what op-geth answered about it.
struct RecordedChain {
    name: &'static str,
    bench: Bench,
    expected: Value,
}

impl RecordedChain {
    /// Imports every recorded chain in turn and runs `check` on it.
    fn each(mut check: impl FnMut(&Self)) {
        let Some(folder) = folder() else { return };
        for name in CHAINS {
            check(&Self::import(&folder, name));
        }
    }

    fn import(folder: &Path, name: &'static str) -> Self {
        let expectations = decompressed(&folder.join(format!("expect-{name}.json.zst")));
        let expected: Value = serde_json::from_reader(expectations).unwrap();
        let datadir = tempfile::tempdir().unwrap();
        let chain = datadir.path().join("chain.rlp");
        fs::write(&chain, encoded_chain(folder, name, &expected)).unwrap();
        let genesis = fs::read_to_string(folder.join(format!("genesis-{name}.json"))).unwrap();
        let mut settings = settings(&datadir.path().join("node"), &[]);
        settings.genesis = Some(parse_genesis(&genesis).unwrap());
        settings.produce = false;
        import_chain(&settings, Arc::new(RealDisk), &chain, &mut |_| true).unwrap();
        let bench = Bench::open(datadir, settings, vec![], Limits::default());
        Self { name, bench, expected }
    }

    fn blocks(&self) -> &[Value] {
        self.expected["blocks"].as_array().unwrap()
    }

    /// Returns the recorded transactions of a block with their receipts.
    fn transactions(block: &Value) -> impl Iterator<Item = (&Value, &Value)> {
        let transactions = block["block"]["transactions"].as_array().unwrap();
        transactions.iter().zip(block["receipts"].as_array().unwrap())
    }
}

/// Returns the blocks after genesis in RLP: recorded headers, with the transactions of the recorded payloads.
fn encoded_chain(folder: &Path, name: &str, expected: &Value) -> Vec<u8> {
    let payloads = recorded_payloads(&folder.join(format!("verifier-{name}.jsonl.zst")));
    let mut out = Vec::new();
    for block in &expected["blocks"].as_array().unwrap()[1..] {
        let raw: Bytes = serde_json::from_value(block["rawHeader"].clone()).unwrap();
        let header = Header::decode(&mut raw.as_ref()).unwrap();
        let decode = |raw: &Bytes| Transaction::decode_envelope(raw).unwrap();
        let transactions = payloads[&header.hash_slow()].iter().map(decode).collect();
        let withdrawals = Some(Vec::new().into());
        BlockBytes { header, transactions, uncles: Vec::new(), withdrawals }.encode(&mut out);
    }
    out
}

/// Returns the transactions of each recorded payload by block hash.
fn recorded_payloads(path: &Path) -> BTreeMap<B256, Vec<Bytes>> {
    let mut found = BTreeMap::new();
    for line in BufReader::new(decompressed(path)).lines() {
        let exchange: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let request = &exchange["request"];
        if request["method"] == "engine_newPayloadV4" {
            let payload = &request["params"][0];
            let hash = serde_json::from_value(payload["blockHash"].clone()).unwrap();
            found.insert(hash, serde_json::from_value(payload["transactions"].clone()).unwrap());
        }
    }
    found
}
