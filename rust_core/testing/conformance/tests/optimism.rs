//! Executes the recorded blocks of OP chains: every header, receipt and vault balance equals op-geth's.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable;
use foreseal_conformance::vectors;
use foreseal_evm::execute_block;
use foreseal_primitives::{BlockBytes, ChainSpec, Transaction, parse_genesis};
use foreseal_state::{BlockHashes, State, StateError, StateReader, genesis_header};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expectations {
    blocks: Vec<ExpectedBlock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExpectedBlock {
    raw_header: Bytes,
    raw_receipts: Vec<Bytes>,
    balances: BTreeMap<Address, U256>,
}

struct Hashes(BTreeMap<u64, B256>);

impl BlockHashes for Hashes {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.0.get(&number).copied())
    }
}

fn decompressed(path: &Path) -> impl Read {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    ruzstd::decoding::StreamingDecoder::new(file).unwrap()
}

/// Returns the transactions of each payload of a recording by block hash.
fn recorded_transactions(path: &Path) -> BTreeMap<B256, Vec<Bytes>> {
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

/// Executes all blocks of a chain and returns their number and that of their transactions.
fn execute(folder: &Path, name: &str) -> (usize, usize) {
    let genesis = std::fs::read_to_string(folder.join(format!("genesis-{name}.json"))).unwrap();
    let spec = ChainSpec::new(parse_genesis(&genesis).unwrap()).unwrap();
    let expected: Expectations =
        serde_json::from_reader(decompressed(&folder.join(format!("expect-{name}.json.zst")))).unwrap();
    let transactions = recorded_transactions(&folder.join(format!("verifier-{name}.jsonl.zst")));
    let mut state = State::from_genesis(spec.genesis());
    let mut parent = genesis_header(&spec, &state);
    let mut hashes = Hashes(BTreeMap::new());
    let mut count = 0;
    for block in &expected.blocks {
        let header = Header::decode(&mut block.raw_header.as_ref()).unwrap();
        let (number, hash) = (header.number, header.hash_slow());
        hashes.0.insert(number, hash);
        if number == 0 {
            assert_eq!(parent, header, "genesis of {name}");
            continue;
        }
        let decode = |raw: &Bytes| Transaction::decode_envelope(raw).unwrap();
        let bytes = BlockBytes {
            header,
            transactions: transactions[&hash].iter().map(decode).collect(),
            uncles: Vec::new(),
            withdrawals: Some(Vec::new().into()),
        };
        let executed = execute_block(&spec, &parent, &state, &hashes, bytes)
            .unwrap_or_else(|error| panic!("block {number} of {name}: {error}"));
        let receipts: Vec<Bytes> = executed
            .block
            .receipts
            .iter()
            .map(|receipt| {
                let mut out = Vec::new();
                receipt.encode_2718(&mut out);
                out.into()
            })
            .collect();
        assert_eq!(receipts, block.raw_receipts, "receipts of block {number} of {name}");
        for (address, balance) in &block.balances {
            let account = executed.state.account(address).unwrap().unwrap_or_default();
            assert_eq!(account.balance, *balance, "{address} after block {number} of {name}");
        }
        count += receipts.len();
        (parent, state) = (executed.block.header, executed.state);
    }
    (expected.blocks.len() - 1, count)
}

#[test]
fn recorded_blocks_of_optimism_chains_execute() {
    let Some(folder) = vectors::find("optimism") else { return };
    for name in ["jovian", "karst", "karst-reorg"] {
        let (blocks, transactions) = execute(&folder, name);
        println!("{name}: {blocks} blocks with {transactions} transactions, 0 failed");
    }
}
