//! Parts of blocks, and their consensus encodings.

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use alloy_rlp::Decodable;
use foreseal_primitives::{BlockBytes, Envelope};
use foreseal_testkit::{Contract, Fees, Wallet};
use foreseal_trie::ordered_trie_root;
use serde_json::{Value, json};

use super::Bench;

const UNKNOWN: &str = "\"0x00000000000000000000000000000000000000000000000000000000000000aa\"";

/// Creates a pending block of three transactions: a transfer, one with a log, one that reverts.
fn bench() -> Bench {
    let mut bench = Bench::new(2);
    let wallet = bench.wallets[0].clone();
    let call = |nonce, contract: Contract| {
        wallet.eip1559(nonce, contract.address().into(), U256::ZERO, 100_000, Bytes::new(), Fees::default())
    };
    bench.submit(&wallet.transfer(0, Address::repeat_byte(0xaa), 1, Fees::default()));
    bench.submit(&call(1, Contract::Logger));
    bench.submit(&call(2, Contract::Reverter));
    bench.tick();
    bench
}

fn bytes(value: &Value) -> Bytes {
    hex::decode(value.as_str().unwrap()).unwrap().into()
}

#[test]
fn counts_and_single_transactions_match_the_full_block() {
    let bench = bench();
    let block = bench.call("eth_getBlockByNumber", "[\"pending\",true]");
    let transactions = block["transactions"].as_array().unwrap();
    assert_eq!(transactions.len(), 3);
    for (selector, name) in [("Number", json!("pending")), ("Hash", block["hash"].clone())] {
        let count = |what: &str| bench.call(&format!("eth_get{what}CountBy{selector}"), &format!("[{name}]"));
        assert_eq!(count("BlockTransaction"), json!("0x3"));
        let uncles = bench.call(&format!("eth_getUncleCountByBlock{selector}"), &format!("[{name}]"));
        assert_eq!(uncles, json!("0x0"));
        for (index, expected) in transactions.iter().enumerate() {
            let arguments = format!("[{name},\"{index:#x}\"]");
            let transaction = bench.call(&format!("eth_getTransactionByBlock{selector}AndIndex"), &arguments);
            assert_eq!(transaction, *expected);
            let raw = bench.call(&format!("eth_getRawTransactionByBlock{selector}AndIndex"), &arguments);
            assert_eq!(json!(keccak256(bytes(&raw))), expected["hash"]);
        }
        for beyond in ["0x3", "0xffffffffffffffff"] {
            let arguments = format!("[{name},\"{beyond}\"]");
            let transaction = bench.call(&format!("eth_getTransactionByBlock{selector}AndIndex"), &arguments);
            assert_eq!(transaction, Value::Null);
            let raw = bench.call(&format!("eth_getRawTransactionByBlock{selector}AndIndex"), &arguments);
            assert_eq!(raw, json!("0x"));
        }
    }
}

#[test]
fn an_unknown_block_has_no_transactions_or_counts() {
    let bench = Bench::new(1);
    for (selector, name) in [("Number", "\"0x64\""), ("Number", "\"0x1\""), ("Hash", UNKNOWN)] {
        for (method, params) in [
            (format!("eth_getBlockTransactionCountBy{selector}"), format!("[{name}]")),
            (format!("eth_getUncleCountByBlock{selector}"), format!("[{name}]")),
            (format!("eth_getTransactionByBlock{selector}AndIndex"), format!("[{name},\"0x0\"]")),
            (format!("eth_getRawTransactionByBlock{selector}AndIndex"), format!("[{name},\"0x0\"]")),
        ] {
            assert_eq!(bench.call(&method, &params), Value::Null, "{method} {params}");
        }
    }
    for method in ["debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts"] {
        for name in ["\"0x64\"", UNKNOWN] {
            let error = bench.error(method, &format!("[{name}]"));
            assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"), "{method}");
        }
    }
    for method in ["debug_getRawTransaction", "eth_getRawTransactionByHash"] {
        assert_eq!(bench.call(method, &format!("[{UNKNOWN}]")), json!("0x"), "{method}");
    }
}

#[test]
fn raw_blocks_headers_and_receipts_match_the_block_hashes() {
    let bench = bench();
    let block = bench.call("eth_getBlockByNumber", "[\"pending\",false]");
    let header = bytes(&bench.call("debug_getRawHeader", "[\"pending\"]"));
    assert_eq!(json!(keccak256(&header)), block["hash"]);
    let raw = bytes(&bench.call("debug_getRawBlock", "[\"pending\"]"));
    let decoded = BlockBytes::decode(&mut raw.as_ref()).unwrap();
    assert_eq!(json!(decoded.header.hash_slow()), block["hash"]);
    assert_eq!(decoded.transactions.len(), 3);
    assert_eq!(json!(format!("{:#x}", raw.len())), block["size"]);
    let receipts = bench.call("debug_getRawReceipts", "[\"pending\"]");
    let receipts = receipts.as_array().unwrap().iter().map(bytes);
    assert_eq!(json!(ordered_trie_root(receipts)), block["receiptsRoot"]);
    let by_hash = bench.call("debug_getRawBlock", &format!("[{}]", block["hash"]));
    assert_eq!(bytes(&by_hash), raw);
}

#[test]
fn raw_transactions_are_found_while_pooled_preconfirmed_and_sealed() {
    let mut bench = Bench::new(1);
    let wallet: Wallet = bench.wallets[0].clone();
    let (plain, blob) =
        (wallet.transfer(0, wallet.address, 0, Fees::default()), wallet.blob(1, wallet.address, 7));
    let hashes: Vec<B256> = [&plain, &blob].map(|raw| bench.submit(raw)).into();
    let raw = |bench: &Bench, hash: B256| {
        let answers = ["debug_getRawTransaction", "eth_getRawTransactionByHash"]
            .map(|method| bytes(&bench.call(method, &format!("[\"{hash}\"]"))));
        assert_eq!(answers[0], answers[1]);
        answers[0].clone()
    };
    assert_eq!(
        [raw(&bench, hashes[0]), raw(&bench, hashes[1])],
        [plain.clone(), blob.clone()],
        "as submitted"
    );
    bench.tick();
    let included = [raw(&bench, hashes[0]), raw(&bench, hashes[1])];
    assert_eq!(included[0], plain);
    assert!(included[1].len() < 1000, "a block carries no blobs");
    let envelope = Envelope::decode_2718(&mut included[1].as_ref()).unwrap();
    assert_eq!(*envelope.tx_hash(), hashes[1]);
    bench.seal();
    assert_eq!([raw(&bench, hashes[0]), raw(&bench, hashes[1])], included);
}

#[test]
fn an_older_view_finds_raw_bytes_preconfirmed_since() {
    let mut bench = Bench::new(1);
    let old = bench.view();
    let raw = bench.wallets[0].transfer(0, Address::ZERO, 0, Fees::default());
    let hash = bench.submit(&raw);
    bench.tick();
    let params = format!("[\"{hash}\"]");
    let result = bench.api.call(Some(&old), "debug_getRawTransaction", params.as_bytes()).unwrap();
    assert_eq!(
        bytes(&serde_json::from_slice(&result).unwrap()),
        raw,
        "neither in the old view nor in the pool"
    );
}
