//! Suggested fees and their history on the recorded OP chains.

use serde_json::{Value, json};

use super::RecordedChain;

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn gas(value: &Value) -> f64 {
    f64::from(u32::try_from(number(value)).unwrap())
}

#[test]
fn a_fee_history_has_recorded_base_fees_and_footprints() {
    RecordedChain::each(|chain| {
        let blocks = chain.blocks();
        // The last block gives the fee of a block that does not exist yet.
        let newest = &blocks[blocks.len() - 2]["block"]["number"];
        let history = chain.bench.call("eth_feeHistory", &json!(["0x400", newest, [0, 50, 100]]).to_string());
        let fees: Vec<_> = blocks.iter().map(|block| block["block"]["baseFeePerGas"].clone()).collect();
        assert_eq!(history["baseFeePerGas"], json!(fees));
        assert_eq!(history["baseFeePerBlobGas"], json!(vec!["0x1"; blocks.len()]));
        let ratios = |field: &str| {
            let ratio = |block: &Value| gas(&block["block"][field]) / gas(&block["block"]["gasLimit"]);
            blocks[..blocks.len() - 1].iter().map(ratio).collect::<Vec<f64>>()
        };
        for (list, field) in [("gasUsedRatio", "gasUsed"), ("blobGasUsedRatio", "blobGasUsed")] {
            let listed: Vec<f64> =
                history[list].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
            assert_eq!(listed, ratios(field), "{list} of {}", chain.name);
            assert!(listed.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{list}");
        }
        let rewards = history["reward"].as_array().unwrap();
        assert!(rewards.iter().any(|row| row[2] != json!("0x0")), "some transactions pay tips");
    });
}

#[test]
fn suggested_fees_cover_the_base_fee_of_the_next_block() {
    RecordedChain::each(|chain| {
        let history = chain.bench.call("eth_feeHistory", r#"["0x1","latest"]"#);
        let next = number(&history["baseFeePerGas"][1]);
        let tip = number(&chain.bench.call("eth_maxPriorityFeePerGas", "[]"));
        assert_eq!(tip, 1_000_000);
        assert!(number(&chain.bench.call("eth_gasPrice", "[]")) >= tip);
        assert!(next > 0);
        assert_eq!(chain.bench.call("eth_blobBaseFee", "[]"), json!("0x1"));
    });
}
