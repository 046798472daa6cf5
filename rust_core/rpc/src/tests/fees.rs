//! Fees and fee history.

use alloy_primitives::{Bytes, TxKind, U256};
use foreseal_testkit::{Fees, TransactionKinds, Workload, deploy_code};
use serde_json::{Value, json};

use foreseal_pool::PoolConfig;

use super::{Bench, raw_params};

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn the_gas_price_follows_the_block_being_built() {
    let bench = Bench::new(1);
    let base_fee = &bench.call("eth_getBlockByNumber", r#"["pending",false]"#)["baseFeePerGas"];
    let tip = bench.call("eth_maxPriorityFeePerGas", "[]");
    assert_eq!(number(&tip), 1_000_000);
    assert_eq!(number(&bench.call("eth_gasPrice", "[]")), number(base_fee) + number(&tip));
    assert_eq!(bench.call("eth_baseFee", "[]"), *base_fee);
    assert_eq!(bench.call("eth_blobBaseFee", "[]"), json!("0x1"), "nobody has sent a blob");
}

#[test]
fn suggested_fees_are_no_less_than_the_minimum_tip() {
    let min_tip = 7_000_000_000;
    let bench = Bench::with_pool(1, PoolConfig { min_tip, ..PoolConfig::default() });
    let base_fee = number(&bench.call("eth_getBlockByNumber", r#"["pending",false]"#)["baseFeePerGas"]);
    let tip = bench.call("eth_maxPriorityFeePerGas", "[]");
    assert_eq!(u128::from(number(&tip)), min_tip);
    assert_eq!(number(&bench.call("eth_gasPrice", "[]")), base_fee + number(&tip));
    let wallet = &bench.wallets[0];
    let fees = |tip| Fees { max_fee: 20_000_000_000, tip };
    let low = wallet.transfer(0, wallet.address, 1, fees(min_tip - 1));
    let error = bench.error("eth_sendRawTransaction", &raw_params(&low));
    assert_eq!((error.code, error.message.as_str()), (-32000, "transaction underpriced"));
    bench.submit(&wallet.transfer(0, wallet.address, 1, fees(min_tip)));
}

#[test]
fn a_fee_history_has_the_next_base_fee_and_rewards() {
    let mut bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    let fees = |tip| Fees { max_fee: 20_000_000_000, tip };
    bench.submit(&a.transfer(0, b.address, 1, fees(1)));
    bench.submit(&b.transfer(0, a.address, 1, fees(3)));
    bench.submit(&a.eip1559(1, TxKind::Create, U256::ZERO, 300_000, deploy_code(&Bytes::new()), fees(2)));
    bench.tick();
    let history = bench.call("eth_feeHistory", r#"["0x5","pending",[0,50,100]]"#);
    assert_eq!(history["oldestBlock"], json!("0x0"), "clamped to the blocks there are");
    assert_eq!(history["reward"], json!([["0x0", "0x0", "0x0"], ["0x1", "0x2", "0x3"]]));
    for (list, length) in
        [("baseFeePerGas", 3), ("gasUsedRatio", 2), ("baseFeePerBlobGas", 3), ("blobGasUsedRatio", 2)]
    {
        assert_eq!(history[list].as_array().unwrap().len(), length, "{list}");
    }
    let sealed_later = history.clone();
    bench.seal();
    assert_eq!(bench.call("eth_feeHistory", r#"["0x5","0x1",[0,50,100]]"#), sealed_later);
    let next = &bench.call("eth_getBlockByNumber", r#"["pending",false]"#)["baseFeePerGas"];
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().last(), Some(next));
}

#[test]
fn a_fee_history_may_be_short_and_without_rewards() {
    let bench = Bench::new(1);
    let one = bench.call("eth_feeHistory", r#"["0x1","latest"]"#);
    assert_eq!((&one["oldestBlock"], one.get("reward")), (&json!("0x0"), None));
    assert_eq!(one["gasUsedRatio"], json!([0]));
    for count in ["1", "\"1\"", "\"0x01\""] {
        assert_eq!(bench.call("eth_feeHistory", &format!("[{count},\"latest\"]")), one, "{count}");
    }
    let none = bench.call("eth_feeHistory", r#"["0x0","latest",[]]"#);
    assert_eq!((&none["baseFeePerGas"], &none["oldestBlock"]), (&json!([]), &json!("0x0")));
    let none = bench.call("eth_feeHistory", r#"["0x0","pending"]"#);
    assert_eq!(none["gasUsedRatio"], json!([]));
    let error = bench.error("eth_feeHistory", r#"["0x1","0x64"]"#);
    assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"));
}

/// Returns tips by gas like geth: sorted and accumulated, with each percentile rounded down to whole gas.
fn expected_percentiles(receipts: &[Value], base_fee: u64, percentiles: &[f64]) -> Vec<u64> {
    let mut paid: Vec<(u64, u64)> = receipts
        .iter()
        .map(|receipt| (number(&receipt["effectiveGasPrice"]) - base_fee, number(&receipt["gasUsed"])))
        .collect();
    paid.sort_unstable();
    let total: u64 = paid.iter().map(|(_, gas)| gas).sum();
    let reward = |percentile: &f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let threshold = (total as f64 * percentile / 100.0) as u64;
        let mut sum = 0;
        let reached = paid.iter().find(|(_, gas)| {
            sum += gas;
            sum >= threshold
        });
        reached.or(paid.last()).map_or(0, |(tip, _)| *tip)
    };
    percentiles.iter().map(reward).collect()
}

#[test]
fn rewards_are_the_tips_at_whole_percentiles_of_the_gas() {
    let mut bench = Bench::new(8);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 11);
    let percentiles = [0.0, 0.1, 5.0, 25.0, 33.3, 50.0, 66.6, 75.0, 99.9, 100.0];
    let mut compared = 0;
    for block in 0..20 {
        for _ in 0..block % 9 {
            bench.submit(&workload.next_transaction());
        }
        bench.tick();
        let header = bench.call("eth_getBlockByNumber", r#"["pending",false]"#);
        let receipts = bench.call("eth_getBlockReceipts", r#"["pending"]"#);
        let manual = expected_percentiles(
            receipts.as_array().unwrap(),
            number(&header["baseFeePerGas"]),
            &percentiles,
        );
        let params = format!("[\"0x1\",\"pending\",{percentiles:?}]");
        let history = bench.call("eth_feeHistory", &params);
        let rewards: Vec<u64> = history["reward"][0].as_array().unwrap().iter().map(number).collect();
        assert_eq!(rewards, manual, "{receipts}");
        compared += receipts.as_array().unwrap().len();
        bench.seal();
    }
    assert!(compared > 50, "{compared} transactions");
}

#[test]
fn a_fee_history_is_bounded() {
    let bench = Bench::new(1);
    let most: Vec<u32> = vec![50; 101];
    let error = bench.error("eth_feeHistory", &format!("[\"0x1\",\"latest\",{most:?}]"));
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32602, "invalid argument 2 (rewardPercentiles): too many entries, at most 100")
    );
    let all = bench.call("eth_feeHistory", r#"["0xffffffffffffffff","pending"]"#);
    assert_eq!(all["gasUsedRatio"].as_array().unwrap().len(), 2, "what there is");
}
