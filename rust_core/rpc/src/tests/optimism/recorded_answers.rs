//! Blocks, receipts, deposits, proofs, balances and output roots equal those of op-geth and op-node.

use alloy_primitives::{B256, hex, keccak256};
use serde_json::{Value, json};

use super::RecordedChain;

impl RecordedChain {
    /// Compares the answer to a call with the recorded one.
    fn check(&self, method: &str, params: &Value, expected: &Value) {
        let answer = self.bench.call(method, &params.to_string());
        assert_eq!(answer, *expected, "{method} {params} of {}", self.name);
    }
}

#[test]
fn recorded_blocks_receipts_and_raw_forms_are_equal() {
    RecordedChain::each(|chain| {
        for block in chain.blocks() {
            let number = &block["block"]["number"];
            chain.check("eth_getBlockByNumber", &json!([number, true]), &block["block"]);
            chain.check("eth_getBlockByHash", &json!([block["block"]["hash"], true]), &block["block"]);
            chain.check("eth_getBlockReceipts", &json!([number]), &block["receipts"]);
            chain.check("debug_getRawHeader", &json!([number]), &block["rawHeader"]);
            chain.check("debug_getRawReceipts", &json!([number]), &block["rawReceipts"]);
            for (address, balance) in block["balances"].as_object().unwrap() {
                chain.check("eth_getBalance", &json!([address, number]), balance);
            }
        }
    });
}

#[test]
fn recorded_transactions_and_deposits_are_equal() {
    RecordedChain::each(|chain| {
        for (transaction, receipt) in chain.blocks().iter().flat_map(RecordedChain::transactions) {
            let hash = json!([transaction["hash"]]);
            chain.check("eth_getTransactionByHash", &hash, transaction);
            chain.check("eth_getTransactionReceipt", &hash, receipt);
        }
        for deposit in chain.expected["deposits"].as_array().unwrap() {
            let hash = json!([deposit["hash"]]);
            chain.check("eth_getTransactionByHash", &hash, &deposit["result"]);
            chain.check("eth_getRawTransactionByHash", &hash, &deposit["raw"]);
            chain.check("debug_getRawTransaction", &hash, &deposit["raw"]);
        }
    });
}

#[test]
fn recorded_proofs_are_equal() {
    RecordedChain::each(|chain| {
        for proof in chain.expected["proofs"].as_array().unwrap() {
            chain.check("eth_getProof", &proof["params"], &proof["result"]);
        }
    });
}

#[test]
fn output_roots_follow_from_blocks() {
    RecordedChain::each(|chain| {
        for (number, output) in chain.expected["outputs"].as_object().unwrap() {
            let number: u64 = number.parse().unwrap();
            let block = chain.bench.call("eth_getBlockByNumber", &format!("[\"{number:#x}\",false]"));
            let mut input = B256::ZERO.to_vec();
            for field in ["stateRoot", "withdrawalsRoot", "hash"] {
                input.extend(hex::decode(block[field].as_str().unwrap()).unwrap());
            }
            assert_eq!(json!(keccak256(input)), *output, "output of block {number} of {}", chain.name);
        }
    });
}
