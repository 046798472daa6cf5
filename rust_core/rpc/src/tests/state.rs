//! Accounts, block tags, the chain and the node.

use alloy_primitives::{B256, Bytes, U256};
use foreseal_testkit::{Contract, Fees};
use serde_json::{Value, json};

use super::Bench;

#[test]
fn every_tag_resolves_and_numbers_exclude_the_pending_block() {
    let mut bench = Bench::new(2);
    for _ in 0..6 {
        bench.seal();
    }
    let number =
        |tag: &str| bench.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]"))["number"].clone();
    assert_eq!(number("earliest"), json!("0x0"));
    assert_eq!(number("finalized"), json!("0x2"));
    assert_eq!(number("safe"), json!("0x4"));
    assert_eq!(number("latest"), json!("0x6"));
    assert_eq!(number("pending"), json!("0x7"));
    assert_eq!(bench.call("eth_blockNumber", "[]"), json!("0x6"));
    assert_eq!(bench.call("eth_getBlockByNumber", r#"["0x7",false]"#), Value::Null);
    assert_eq!(bench.call("eth_getBlockReceipts", r#"["0x7"]"#), Value::Null);
    let account = bench.wallets[0].address;
    for (method, params) in [
        ("eth_getBalance", format!("[\"{account}\",\"0x7\"]")),
        ("eth_getCode", format!("[\"{account}\",\"0x7\"]")),
        ("eth_getStorageAt", format!("[\"{account}\",\"0x0\",\"0x7\"]")),
        ("eth_getTransactionCount", format!("[\"{account}\",\"0x7\"]")),
    ] {
        let error = bench.error(method, &params);
        assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"), "{method}");
    }
}

/// Invariant 1.
#[test]
fn calls_on_an_older_view_use_its_state() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let queries = [
        ("eth_getBlockByNumber", r#"["pending",true]"#.to_owned()),
        ("eth_getBlockByNumber", r#"["latest",true]"#.to_owned()),
        ("eth_getBlockReceipts", r#"["pending"]"#.to_owned()),
        ("eth_getLogs", r#"[{"fromBlock":"pending"}]"#.to_owned()),
        ("eth_getBalance", format!("[\"{}\",\"pending\"]", wallet.address)),
        ("eth_blockNumber", "[]".to_owned()),
        ("eth_gasPrice", "[]".to_owned()),
        ("eth_feeHistory", r#"["0x2","pending",[50]]"#.to_owned()),
    ];
    let view = bench.view();
    let answers = |bench: &Bench| {
        queries
            .each_ref()
            .map(|(method, params)| bench.api.call(Some(&view), method, params.as_bytes()).unwrap())
    };
    let before = answers(&bench);
    let call = wallet.eip1559(
        0,
        Contract::Logger.address().into(),
        U256::ZERO,
        100_000,
        Bytes::new(),
        Fees::default(),
    );
    bench.submit(&call);
    bench.tick();
    bench.seal();
    assert_eq!(answers(&bench), before);
    assert_ne!(bench.call("eth_blockNumber", "[]"), json!("0x0"));
}

#[test]
fn a_superseded_step_is_found_but_is_not_canonical() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let balance = |bench: &Bench, block: &str| {
        bench.try_call("eth_getBalance", &format!("[\"{}\",{block}]", wallet.address))
    };
    bench.submit(&wallet.transfer(0, wallet.address, 0, Fees::default()));
    bench.tick();
    let then = bench.call("eth_getBlockByNumber", r#"["pending",true]"#);
    let balance_then = balance(&bench, "\"pending\"");
    bench.submit(&wallet.transfer(1, wallet.address, 0, Fees::default()));
    bench.tick();
    let hash = then["hash"].clone();
    assert_eq!(bench.call("eth_getBlockByHash", &format!("[{hash},true]")), then);
    for block in [
        hash.to_string(),
        format!("{{\"blockHash\":{hash}}}"),
        r#"{"blockNumber":"0x1","flashblockIndex":"0x1"}"#.to_owned(),
    ] {
        assert_eq!(balance(&bench, &block), balance_then, "{block}");
    }
    let canonical = format!("{{\"blockHash\":{hash},\"requireCanonical\":true}}");
    let error = balance(&bench, &canonical).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32000, "hash is not currently canonical"));
    let receipts = bench.call("eth_getBlockReceipts", &format!("[{hash}]"));
    assert_eq!(receipts.as_array().unwrap().len(), 1);
    assert_eq!(receipts[0]["blockHash"], hash);
}

#[test]
fn a_pending_block_has_all_fields_of_a_sealed_block() {
    let mut bench = Bench::new(1);
    let pending = bench.call("eth_getBlockByNumber", r#"["pending",false]"#);
    bench.seal();
    let sealed = bench.call("eth_getBlockByNumber", r#"["latest",false]"#);
    assert_eq!(pending, sealed);
    for (name, value) in pending.as_object().unwrap() {
        assert!(!value.is_null(), "{name}");
    }
    assert_eq!(pending["withdrawals"], json!([]));
    assert_eq!(pending["nonce"], json!("0x0000000000000000"));
    assert_eq!(pending.as_object().unwrap().len(), 26);
}

#[test]
fn storage_is_32_bytes_on_every_tag() {
    let mut bench = Bench::new(1);
    let counter = Contract::Counter.address();
    let wallet = bench.wallets[0].clone();
    let call = wallet.eip1559(0, counter.into(), U256::ZERO, 100_000, Bytes::new(), Fees::default());
    bench.submit(&call);
    bench.tick();
    let slot = |tag: &str, position: &str| {
        bench.call("eth_getStorageAt", &format!("[\"{counter}\",\"{position}\",\"{tag}\"]"))
    };
    assert_eq!(slot("latest", "0x0"), json!(B256::ZERO));
    assert_eq!(slot("pending", "0x0"), json!(B256::with_last_byte(1)));
    assert_eq!(slot("pending", &B256::ZERO.to_string()), json!(B256::with_last_byte(1)));
}

#[test]
fn chain_id_and_client_version_are_reported() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.call("eth_chainId", "[]"), json!("0x7a69"));
    assert_eq!(bench.call("net_version", "null"), json!("31337"));
    assert_eq!(bench.call("eth_syncing", ""), json!(false));
    assert!(bench.call("web3_clientVersion", "").as_str().unwrap().starts_with("foreseal/v"));
    assert_eq!(bench.call("net_listening", ""), json!(true));
    assert_eq!(bench.call("net_peerCount", "[]"), json!("0x0"));
    for (bytes, hash) in [
        ("0x", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        ("0x68656c6c6f20776f726c64", "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad"),
    ] {
        assert_eq!(bench.call("web3_sha3", &format!("[\"{bytes}\"]")), json!(hash));
    }
    bench.submit(&bench.wallets[0].transfer(1, bench.wallets[0].address, 0, Fees::default()));
    bench.tick();
    let status = bench.call("foreseal_status", "[]");
    assert_eq!((&status["block"], &status["index"]), (&json!("0x1"), &json!("0x0")));
    assert_eq!(
        (&status["age"], &status["lag"], &status["role"]),
        (&json!(0), &json!(0), &json!("sequencer"))
    );
    assert_eq!((&status["pool"]["queued"], &status["pool"]["pooled"]), (&json!(1), &json!(0)));
    assert_eq!((&status["pool"]["start"], &status["phase"]), (&json!("new"), &json!("producing")));
}

#[test]
fn the_node_status_in_a_batch_uses_its_view() {
    let mut bench = Bench::new(1);
    let older = bench.view();
    bench.submit(&bench.wallets[0].transfer(0, bench.wallets[0].address, 0, Fees::default()));
    bench.tick();
    let of = |view| -> Value {
        serde_json::from_slice(&bench.api.call(Some(view), "foreseal_status", b"[]").unwrap()).unwrap()
    };
    let (before, now) = (of(&older), of(&bench.view()));
    assert_eq!((&before["index"], &now["index"]), (&json!("0x0"), &json!("0x1")));
    assert_eq!(before["hash"], json!(older.pending().block.hash));
    assert_ne!(before["hash"], now["hash"]);
}

#[test]
fn capabilities_name_the_head_and_the_window_of_proofs() {
    let mut bench = Bench::developing(1);
    bench.seal();
    let latest = bench.view().latest().block.clone();
    let complete = json!({"disabled":false,"oldestBlock":"0x0"});
    assert_eq!(
        bench.call("eth_capabilities", "[]"),
        json!({
            "head": {"number": "0x1", "hash": latest.hash},
            "state": complete, "tx": complete, "logs": complete, "receipts": complete, "blocks": complete,
            "stateproofs": {
                "disabled": false,
                "oldestBlock": "0x0",
                "deleteStrategy": {"type": "window", "retentionBlocks": "0x400"},
            },
        })
    );
}
