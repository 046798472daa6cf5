//! Development methods, and access to them.

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_testkit::Fees;
use serde_json::{Value, json};

use crate::{
    context::limits::Limits,
    methods::method::{Access, ExecutionMode},
    request::{api::Api, table::methods},
};

use super::{Bench, raw_params};

const OTHER_ACCOUNT: &str = "0x0000000000000000000000000000000000000077";

fn number(bench: &Bench, tag: &str) -> u64 {
    quantity(&bench.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]"))["number"])
}

fn timestamp(bench: &Bench, tag: &str) -> u64 {
    quantity(&bench.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]"))["timestamp"])
}

fn quantity(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn a_production_node_serves_no_development_methods() {
    let bench = Bench::new(1);
    let mut rejected = 0;
    for method in methods().filter(|method| method.access == Access::Development) {
        for api in [&bench.api, &bench.api.for_admin()] {
            let error = api.call(Some(&bench.view()), method.name, b"[]").unwrap_err();
            let name = method.name;
            let message = format!(
                "the method {name} does not exist/is not available: it is served by development nodes only (foreseal dev)"
            );
            assert_eq!((error.code, error.message), (-32601, message));
        }
        rejected += 1;
    }
    assert!(rejected > 30);
    let view = bench.view();
    assert_eq!((view.latest().number(), view.pending_index()), (0, 0));
}

#[test]
fn finality_is_set_on_the_admin_listener_only() {
    for bench in [Bench::new(1), Bench::developing(1)] {
        let public = Api::new(bench.api.node().clone(), Limits::default(), B256::ZERO);
        let error =
            public.call(Some(&bench.view()), "foreseal_setFinality", b"[{\"safe\":\"0x0\"}]").unwrap_err();
        let message = "the method foreseal_setFinality does not exist/is not available: it is served on the admin listener only (--admin)";
        assert_eq!((error.code, error.message.as_str()), (-32601, message));
        let admin = public.for_admin();
        let answer = admin.call(Some(&bench.view()), "foreseal_setFinality", b"[{\"safe\":\"0x0\"}]");
        assert_eq!(answer.unwrap(), "true");
    }
    let admin: Vec<_> = methods().filter(|method| method.access == Access::Admin).collect();
    assert!(!admin.is_empty() && admin.iter().all(|method| method.mode == ExecutionMode::WorkerPool));
}

#[test]
fn results_match_those_of_anvil() {
    let bench = Bench::developing(1);
    let slot_value = "0x0000000000000000000000000000000000000000000000000000000000000007";
    for (method, params, answer) in [
        ("evm_mine", "[]".to_owned(), json!("0x0")),
        ("evm_mine", "[{\"blocks\":2}]".to_owned(), json!("0x0")),
        ("anvil_mine", "[\"0x2\",\"0xa\"]".to_owned(), json!(null)),
        ("hardhat_mine", "[]".to_owned(), json!(null)),
        ("anvil_mine", "[0]".to_owned(), json!(null)),
        ("evm_increaseTime", "[100]".to_owned(), json!(null)),
        ("anvil_setBalance", format!("[\"{OTHER_ACCOUNT}\",\"0x64\"]"), json!(null)),
        ("hardhat_setBalance", format!("[\"{OTHER_ACCOUNT}\",101]"), json!(null)),
        ("anvil_setCode", format!("[\"{OTHER_ACCOUNT}\",\"0x6000\"]"), json!(null)),
        ("anvil_setNonce", format!("[\"{OTHER_ACCOUNT}\",\"0x5\"]"), json!(null)),
        ("anvil_setStorageAt", format!("[\"{OTHER_ACCOUNT}\",\"0x0\",\"{slot_value}\"]"), json!(true)),
        ("hardhat_setStorageAt", format!("[\"{OTHER_ACCOUNT}\",\"0x01\",\"{slot_value}\"]"), json!(true)),
        ("anvil_impersonateAccount", format!("[\"{OTHER_ACCOUNT}\"]"), json!(null)),
        ("hardhat_stopImpersonatingAccount", format!("[\"{OTHER_ACCOUNT}\"]"), json!(null)),
        ("anvil_autoImpersonateAccount", "[true]".to_owned(), json!(null)),
        ("evm_snapshot", "[]".to_owned(), json!("0x0")),
        ("anvil_snapshot", "[]".to_owned(), json!("0x1")),
        ("evm_revert", "[\"0x99\"]".to_owned(), json!(false)),
        ("evm_revert", "[\"0x1\"]".to_owned(), json!(true)),
        ("evm_revert", "[\"0x1\"]".to_owned(), json!(false)),
        ("evm_revert", "[0]".to_owned(), json!(true)),
        ("evm_snapshot", "[]".to_owned(), json!("0x2")),
        ("anvil_getAutomine", "[]".to_owned(), json!(false)),
        ("anvil_getIntervalMining", "[]".to_owned(), json!(2)),
        ("evm_setAutomine", "[true]".to_owned(), json!(null)),
        ("hardhat_getAutomine", "[]".to_owned(), json!(true)),
        ("anvil_getIntervalMining", "[]".to_owned(), json!(null)),
        ("evm_setAutomine", "[false]".to_owned(), json!(null)),
        ("evm_setIntervalMining", "[5]".to_owned(), json!(null)),
        ("anvil_getIntervalMining", "[]".to_owned(), json!(5)),
        ("anvil_setCoinbase", format!("[\"{OTHER_ACCOUNT}\"]"), json!(null)),
        ("anvil_setNextBlockBaseFeePerGas", "[\"0x7\"]".to_owned(), json!(null)),
        ("anvil_dropTransaction", format!("[\"{slot_value}\"]"), json!(null)),
        ("hardhat_dropTransaction", format!("[\"{slot_value}\"]"), json!(false)),
        ("anvil_reorg", "[1,[]]".to_owned(), json!(null)),
        ("anvil_rollback", "[1]".to_owned(), json!(null)),
    ] {
        let answered = bench.call(method, &params);
        if method != "evm_increaseTime" {
            assert_eq!(answered, answer, "{method} {params}");
        }
    }
}

#[test]
fn header_fields_are_set_for_the_next_block() {
    let bench = Bench::developing(1);
    let block = |bench: &Bench, tag: &str| bench.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]"));
    let randao = "0x0000000000000000000000000000000000000000000000000000000000001234";
    for prefix in ["anvil", "hardhat"] {
        bench.call(&format!("{prefix}_setPrevRandao"), &format!("[\"{randao}\"]"));
        assert_eq!(block(&bench, "pending")["mixHash"], randao);
        bench.call("evm_mine", "[]");
        assert_eq!(block(&bench, "latest")["mixHash"], randao);
        assert_ne!(block(&bench, "pending")["mixHash"], randao);
    }
    for (method, limit) in [("evm_setBlockGasLimit", 20_000_000_u64), ("anvil_setBlockGasLimit", 30_000_000)]
    {
        assert_eq!(bench.call(method, &format!("[\"{limit:#x}\"]")), json!(true));
        // Another change of the open block retains it.
        bench.call("hardhat_setPrevRandao", &format!("[\"{randao}\"]"));
        bench.call("evm_mine", "[{\"blocks\":3}]");
        for tag in ["latest", "pending"] {
            assert_eq!(quantity(&block(&bench, tag)["gasLimit"]), limit);
        }
    }
    let view = bench.view();
    let error = bench.api.call(Some(&view), "evm_setBlockGasLimit", b"[4999]").unwrap_err();
    assert_eq!(error.message, "refused: gasLimit must be at least 5000, got 4999");
}

#[test]
fn a_timestamp_interval_replaces_the_clock() {
    let bench = Bench::developing(1);
    assert_eq!(bench.call("anvil_removeBlockTimestampInterval", "[]"), json!(false));
    bench.call("evm_mine", "[]");
    let first = timestamp(&bench, "latest");
    bench.call("anvil_setBlockTimestampInterval", "[60]");
    assert_eq!(timestamp(&bench, "pending"), first + 60);
    bench.call("evm_mine", "[{\"blocks\":2}]");
    assert_eq!((timestamp(&bench, "latest"), timestamp(&bench, "pending")), (first + 120, first + 180));
    assert_eq!(bench.call("anvil_removeBlockTimestampInterval", "[]"), json!(true));
    assert!(timestamp(&bench, "pending") < first + 180);
}

/// Snapshots of hardhat have these fields too, those of anvil only blocks.
#[test]
fn a_revert_restores_what_later_blocks_have() {
    let bench = Bench::developing(1);
    bench.call("evm_setBlockGasLimit", "[20000000]");
    bench.call("evm_mine", "[]");
    let fields = |bench: &Bench| {
        let block = bench.call("eth_getBlockByNumber", "[\"latest\",false]");
        (block["gasLimit"].clone(), block["miner"].clone(), quantity(&block["timestamp"]))
    };
    let before = fields(&bench);
    let snapshot = bench.call("evm_snapshot", "[]");
    bench.call("evm_setBlockGasLimit", "[30000000]");
    bench.call("hardhat_setCoinbase", &format!("[\"{OTHER_ACCOUNT}\"]"));
    bench.call("anvil_setBlockTimestampInterval", "[60]");
    bench.call("evm_mine", "[{\"blocks\":3}]");
    assert_eq!(bench.call("evm_revert", &format!("[{snapshot}]")), json!(true));
    bench.call("evm_mine", "[{\"blocks\":3}]");
    let after = fields(&bench);
    assert_eq!((&after.0, &after.1), (&before.0, &before.1));
    assert!(after.2 < before.2 + 60, "{} after {}", after.2, before.2);
}

#[test]
fn a_set_timestamp_takes_precedence_over_increases_of_time() {
    let bench = Bench::developing(1);
    bench.call("evm_setNextBlockTimestamp", "[2000000]");
    let before: i64 = bench.call("evm_increaseTime", "[0]").as_i64().unwrap();
    assert_eq!(bench.call("evm_increaseTime", "[100000]"), json!(before + 100_000));
    bench.call("evm_mine", "[]");
    assert_eq!(timestamp(&bench, "latest"), 2_000_000);
    bench.call("evm_mine", "[]");
    assert_eq!(timestamp(&bench, "latest"), 2_000_002, "time continues from it");
    bench.call("evm_increaseTime", "[100000]");
    bench.call("evm_mine", "[]");
    assert_eq!(timestamp(&bench, "latest"), 2_100_004);
}

/// hardhat's interval is between the blocks, anvil's also before the first.
#[test]
fn mining_counts_intervals_as_the_node_that_the_method_is_named_after() {
    let bench = Bench::developing(1);
    bench.call("evm_mine", "[2000000]");
    bench.call("hardhat_mine", "[\"0x3\",\"0x3e8\"]");
    assert_eq!(timestamp(&bench, "latest"), 2_002_002);
    bench.call("anvil_mine", "[\"0x3\",\"0x3e8\"]");
    assert_eq!(timestamp(&bench, "latest"), 2_005_002);
}

#[test]
fn a_reset_returns_to_the_genesis_block() {
    let bench = Bench::developing(1);
    let before = bench.call("hardhat_metadata", "[]");
    assert_eq!(before, bench.call("anvil_metadata", "[]"));
    bench.call("evm_snapshot", "[]");
    bench.call("evm_increaseTime", "[100000]");
    bench.call("anvil_setBalance", &format!("[\"{OTHER_ACCOUNT}\",\"0x64\"]"));
    bench.call("anvil_impersonateAccount", &format!("[\"{OTHER_ACCOUNT}\"]"));
    let queued = format!(
        "[{{\"from\":\"{OTHER_ACCOUNT}\",\"to\":\"{OTHER_ACCOUNT}\",\"nonce\":\"0x5\",\"gas\":\"0x5208\",\"gasPrice\":\"0x0\"}}]"
    );
    bench.call("eth_sendTransaction", &queued);
    bench.call("evm_setBlockGasLimit", "[20000000]");
    bench.call("evm_mine", "[{\"blocks\":5}]");
    for method in ["hardhat_reset", "anvil_reset"] {
        assert_eq!(bench.call(method, "[]"), json!(true));
    }
    assert_eq!(number(&bench, "latest"), 0);
    assert_eq!(bench.call("eth_getBalance", &format!("[\"{OTHER_ACCOUNT}\",\"pending\"]")), "0x0");
    assert_eq!(bench.call("txpool_status", "[]"), json!({"pending": "0x0", "queued": "0x0"}));
    assert_eq!(bench.call("evm_revert", "[0]"), json!(false));
    assert!(timestamp(&bench, "pending") < 2_000_000);
    let after = bench.call("anvil_metadata", "[]");
    assert_eq!(after["latestBlockHash"], before["latestBlockHash"]);
    assert_ne!(after["instanceId"], before["instanceId"]);
    let forking = b"[{\"forking\":{\"jsonRpcUrl\":\"http://localhost\"}}]";
    let error = bench.api.call(Some(&bench.view()), "hardhat_reset", forking).unwrap_err();
    assert!(error.message.contains("options.forking): is not supported"), "{}", error.message);
}

#[test]
fn a_dump_restores_the_accounts_on_another_chain() {
    let bench = Bench::developing(1);
    let slot_value = "0x0000000000000000000000000000000000000000000000000000000000000007";
    bench.call("anvil_setBalance", &format!("[\"{OTHER_ACCOUNT}\",\"0x64\"]"));
    bench.call("anvil_setNonce", &format!("[\"{OTHER_ACCOUNT}\",\"0x5\"]"));
    bench.call("anvil_setCode", &format!("[\"{OTHER_ACCOUNT}\",\"0x6001\"]"));
    bench.call("anvil_setStorageAt", &format!("[\"{OTHER_ACCOUNT}\",\"0x1\",\"{slot_value}\"]"));
    bench.call("evm_mine", "[]");
    // A slot that became zero is not in the dump.
    bench.call("anvil_setStorageAt", &format!("[\"{OTHER_ACCOUNT}\",\"0x2\",\"{slot_value}\"]"));
    let zero = B256::ZERO;
    bench.call("anvil_setStorageAt", &format!("[\"{OTHER_ACCOUNT}\",\"0x2\",\"{zero}\"]"));
    let dump = bench.call("anvil_dumpState", "[]");
    let json: Value = serde_json::from_slice(&dump.as_str().unwrap().parse::<Bytes>().unwrap()).unwrap();
    let expected = json!({"nonce": 5, "balance": "0x64", "code": "0x6001", "storage": {
        "0x0000000000000000000000000000000000000000000000000000000000000001": slot_value,
    }});
    let dumped = json["accounts"].as_object().unwrap();
    assert_eq!(
        dumped.iter().find(|(address, _)| address.to_lowercase() == OTHER_ACCOUNT).unwrap().1,
        &expected
    );
    // Each account of the genesis is in the dump.
    assert!(dumped.len() >= bench.api.node().spec().genesis().alloc.len());

    let other = Bench::developing(1);
    assert_eq!(other.call("anvil_loadState", &format!("[{dump}]")), json!(true));
    for (method, params) in [
        ("eth_getBalance", format!("[\"{OTHER_ACCOUNT}\",\"pending\"]")),
        ("eth_getTransactionCount", format!("[\"{OTHER_ACCOUNT}\",\"pending\"]")),
        ("eth_getCode", format!("[\"{OTHER_ACCOUNT}\",\"pending\"]")),
        ("eth_getStorageAt", format!("[\"{OTHER_ACCOUNT}\",\"0x1\",\"pending\"]")),
    ] {
        assert_eq!(other.call(method, &params), bench.call(method, &params), "{method}");
    }
    for (state, message) in
        [("0x1f8b00", "is compressed by gzip"), ("0x7b7d", "not a dump of anvil: missing field")]
    {
        let params = format!("[\"{state}\"]");
        let error = other.api.call(Some(&other.view()), "anvil_loadState", params.as_bytes()).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
    }
}

#[test]
fn a_development_node_names_itself_as_its_tools_require() {
    let bench = Bench::developing(1);
    let version = bench.call("web3_clientVersion", "[]");
    // hardhat-network-helpers 1 and 3: the name must begin with hardhat, zksync or anvil.
    assert!(version.as_str().unwrap().starts_with("anvil-compatible/foreseal/v"));
    let metadata = bench.call("hardhat_metadata", "[]");
    assert_eq!(metadata["clientVersion"], version);
    assert_eq!(metadata["chainId"], json!(31_337));
    let info = bench.call("anvil_nodeInfo", "[]");
    assert_eq!(info["hardFork"], "osaka");
    assert_eq!(info["environment"]["gasLimit"], "0x17d78400");
    assert_eq!(bench.call("eth_mining", "[]"), json!(true));
    bench.call("evm_setIntervalMining", "[0]");
    assert_eq!(bench.call("eth_mining", "[]"), json!(false));
    let production = Bench::new(1).call("web3_clientVersion", "[]");
    assert!(production.as_str().unwrap().starts_with("foreseal/v"));
}

#[test]
fn times_are_plain_exact_numbers() {
    let bench = Bench::developing(1);
    bench.call("evm_mine", "[2000000]");
    assert_eq!(timestamp(&bench, "latest"), 2_000_000);
    bench.call("evm_setNextBlockTimestamp", "[\"0x1e8a00\"]");
    assert_eq!(timestamp(&bench, "pending"), 2_001_408);
    bench.call("evm_mine", "[]");
    assert_eq!(timestamp(&bench, "latest"), 2_001_408);
    let before: i64 = bench.call("evm_increaseTime", "[0]").as_i64().unwrap();
    assert_eq!(bench.call("evm_increaseTime", "[3600]"), json!(before + 3_600));
    bench.call("evm_mine", "[]");
    assert_eq!(timestamp(&bench, "latest"), 2_001_408 + 3_602);
    assert_eq!(bench.call("evm_setTime", "[\"2100000\"]"), json!(2_100_000 - 2_005_010));
    assert_eq!(bench.call("evm_setTime", "[1]"), json!(0));
    let error = bench.error("evm_setNextBlockTimestamp", "[5]");
    let message = "Timestamp error: 5 is not after the previous block's timestamp 2005010";
    assert_eq!((error.code, error.message.as_str()), (-32602, message));
    let error = bench.error("evm_mine", "[5]");
    assert_eq!(error.code, -32602);
    assert_eq!(number(&bench, "latest"), 3);
    let error = bench.error("anvil_mine", "[6]");
    assert_eq!((error.code, super::data(&error)), (-32005, json!({"limit": "blocks at a time", "max": 5})));
}

#[test]
fn an_override_shows_on_pending_and_then_on_latest() {
    let mut bench = Bench::developing(1);
    bench.call("anvil_setBalance", &format!("[\"{OTHER_ACCOUNT}\",\"0x64\"]"));
    bench.call("anvil_setNonce", &format!("[\"{OTHER_ACCOUNT}\",9]"));
    bench.call("anvil_setCode", &format!("[\"{OTHER_ACCOUNT}\",\"0x6001\"]"));
    let slot_value = "0x0000000000000000000000000000000000000000000000000000000000000007";
    bench.call("anvil_setStorageAt", &format!("[\"{OTHER_ACCOUNT}\",\"0x3\",\"{slot_value}\"]"));
    let read = |bench: &Bench, tag: &str| {
        [
            bench.call("eth_getBalance", &format!("[\"{OTHER_ACCOUNT}\",\"{tag}\"]")),
            bench.call("eth_getTransactionCount", &format!("[\"{OTHER_ACCOUNT}\",\"{tag}\"]")),
            bench.call("eth_getCode", &format!("[\"{OTHER_ACCOUNT}\",\"{tag}\"]")),
            bench.call("eth_getStorageAt", &format!("[\"{OTHER_ACCOUNT}\",\"0x3\",\"{tag}\"]")),
        ]
    };
    let written = [json!("0x64"), json!("0x9"), json!("0x6001"), json!(slot_value)];
    assert_eq!(read(&bench, "pending"), written);
    assert_eq!(read(&bench, "latest")[0], json!("0x0"));
    let pending = bench.call("eth_getBlockByNumber", "[\"pending\",true]");
    bench.seal();
    assert_eq!(read(&bench, "latest"), written);
    assert_eq!(bench.call("eth_getBlockByNumber", "[\"latest\",true]"), pending);
}

#[test]
fn rollback_and_reorg_move_the_transactions() {
    let mut bench = Bench::developing(2);
    let to: Address = OTHER_ACCOUNT.parse().unwrap();
    let hash = bench.submit(&bench.wallets[0].transfer(0, to, 7, Fees::default()));
    (0..3).for_each(|_| bench.seal());
    let block_of = |bench: &Bench| {
        bench.call("eth_getTransactionByHash", &format!("[\"{hash}\"]"))["blockNumber"].clone()
    };
    assert_eq!(block_of(&bench), json!("0x1"));
    let replacement = bench.wallets[1].transfer(0, to, 1, Fees::default());
    let raw = raw_params(&replacement);
    bench.call("anvil_reorg", &format!("[2,[[{},1]]]", raw.trim_matches(['[', ']'])));
    let latest = bench.call("eth_getBlockByNumber", "[\"latest\",false]");
    assert_eq!((number(&bench, "latest"), latest["transactions"].as_array().unwrap().len()), (3, 1));
    assert_eq!(block_of(&bench), json!("0x1"));
    bench.call("anvil_rollback", "[3]");
    assert_eq!((number(&bench, "latest"), block_of(&bench)), (0, json!("0x1")), "it is pre-confirmed again");
    assert_eq!(bench.view().latest().number(), 0);
    for (params, message) in [
        ("[1]", "Reorg depth must not exceed current chain height: current height 0, depth 1"),
        (
            "[0,[[\"0x00\",0]]]",
            "Block number for reorg tx will exceed the reorged chain height. Block number 0 must not exceed (depth-1) 0",
        ),
    ] {
        let error = bench.error("anvil_reorg", params);
        assert_eq!((error.code, error.message.as_str()), (-32602, message));
    }
    bench.seal();
    let error = bench.error("anvil_reorg", "[1,[[\"0x00\",0]]]");
    assert!(error.message.starts_with("transaction 0 of the reorg: "), "{}", error.message);
    assert_eq!(bench.error("anvil_rollback", "[9]").code, -32602);
}

#[test]
fn a_transaction_dropped_on_request_reports_it() {
    let bench = Bench::developing(2);
    let to: Address = OTHER_ACCOUNT.parse().unwrap();
    let hash = bench.submit(&bench.wallets[0].transfer(5, to, 7, Fees::default()));
    assert_eq!(bench.call("anvil_dropTransaction", &format!("[\"{hash}\"]")), json!(hash.to_string()));
    assert_eq!(bench.call("anvil_dropTransaction", &format!("[\"{hash}\"]")), json!(null));
    let status = bench.call("foreseal_transactionStatus", &format!("[\"{hash}\"]"));
    assert_eq!((&status["status"], &status["reason"]), (&json!("dropped"), &json!("dropped on request")));
}

/// `safe`, `finalized` and `earliest`: by depth, set explicitly, and across an unwind.
#[test]
fn finality_moves_the_safe_and_finalized_tags() {
    let mut bench = Bench::developing(1);
    let tags = |bench: &Bench| ["earliest", "finalized", "safe", "latest"].map(|tag| number(bench, tag));
    assert_eq!(tags(&bench), [0, 0, 0, 0]);
    bench.seal();
    assert_eq!(tags(&bench), [0, 0, 0, 1]);
    (0..5).for_each(|_| bench.seal());
    assert_eq!(tags(&bench), [0, 2, 4, 6], "by the depth of 2 and 4");
    let third = bench.call("eth_getBlockByNumber", "[\"0x3\",false]")["hash"].clone();
    bench.call("foreseal_setFinality", &format!("[{{\"finalized\":{third},\"safe\":\"0x5\"}}]"));
    assert_eq!(tags(&bench), [0, 3, 5, 6]);
    (0..6).for_each(|_| bench.seal());
    assert_eq!(tags(&bench), [0, 3, 5, 12], "neither follows any more");
    let rejected = |bench: &Bench, params: &str| {
        let error = bench.error("foreseal_setFinality", params);
        (error.code, error.message)
    };
    assert_eq!(rejected(&bench, "[{\"safe\":\"0x4\"}]"), (-32000, "safe 4 would go back".to_owned()));
    assert_eq!(
        rejected(&bench, "[{\"finalized\":\"0x6\"}]"),
        (-32000, "finalized 6 would pass the safe block".to_owned())
    );
    assert_eq!(rejected(&bench, "[{\"safe\":\"0x63\"}]"), (-32001, "block not found".to_owned()));
    let unknown = format!("[{{\"safe\":\"{:#066x}\"}}]", U256::from(5));
    assert_eq!(rejected(&bench, &unknown), (-32001, "block not found".to_owned()));
    assert_eq!(tags(&bench), [0, 3, 5, 12]);
    bench.call("anvil_rollback", "[8]");
    assert_eq!(tags(&bench), [0, 3, 4, 4], "neither passes the latest block");
}
