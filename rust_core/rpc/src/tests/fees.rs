//! Prices and fee history.

use alloy_primitives::{Bytes, TxKind, U256};
use foreseal_testkit::{Fees, deploy_code};
use serde_json::{Value, json};

use super::Bench;

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn the_gas_price_follows_the_block_being_built() {
    let bench = Bench::new(1);
    let base_fee = &bench.ask("eth_getBlockByNumber", r#"["pending",false]"#)["baseFeePerGas"];
    let tip = bench.ask("eth_maxPriorityFeePerGas", "[]");
    assert_eq!(number(&tip), 1_000_000);
    assert_eq!(number(&bench.ask("eth_gasPrice", "[]")), number(base_fee) + number(&tip));
}

#[test]
fn a_fee_history_names_the_next_base_fee_and_the_rewards() {
    let mut bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    let fees = |tip| Fees { max_fee: 20_000_000_000, tip };
    bench.submit(&a.transfer(0, b.address, 1, fees(1)));
    bench.submit(&b.transfer(0, a.address, 1, fees(3)));
    bench.submit(&a.eip1559(1, TxKind::Create, U256::ZERO, 300_000, deploy_code(&Bytes::new()), fees(2)));
    bench.tick();
    let history = bench.ask("eth_feeHistory", r#"["0x5","pending",[0,50,100]]"#);
    assert_eq!(history["oldestBlock"], json!("0x0"), "clamped to the blocks there are");
    assert_eq!(history["reward"], json!([["0x0", "0x0", "0x0"], ["0x1", "0x2", "0x3"]]));
    for (list, length) in
        [("baseFeePerGas", 3), ("gasUsedRatio", 2), ("baseFeePerBlobGas", 3), ("blobGasUsedRatio", 2)]
    {
        assert_eq!(history[list].as_array().unwrap().len(), length, "{list}");
    }
    let sealed_later = history.clone();
    bench.seal();
    assert_eq!(bench.ask("eth_feeHistory", r#"["0x5","0x1",[0,50,100]]"#), sealed_later);
    let next = &bench.ask("eth_getBlockByNumber", r#"["pending",false]"#)["baseFeePerGas"];
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().last(), Some(next));
}

#[test]
fn a_fee_history_may_be_short_and_without_rewards() {
    let bench = Bench::new(1);
    let one = bench.ask("eth_feeHistory", r#"["0x1","latest"]"#);
    assert_eq!((&one["oldestBlock"], one.get("reward")), (&json!("0x0"), None));
    assert_eq!(one["gasUsedRatio"], json!([0]));
    let none = bench.ask("eth_feeHistory", r#"["0x0","latest",[]]"#);
    assert_eq!(none["baseFeePerGas"], json!([]));
    let error = bench.error("eth_feeHistory", r#"["0x1","0x64"]"#);
    assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"));
}
