//! Calls, estimates and simulations follow the rules of the recorded OP chains.

use serde_json::{Value, json};

use super::RecordedChain;

const TRANSFER_GAS: u64 = 21_000;

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Returns the request of a recorded transaction, without gas and fees.
fn request(transaction: &Value) -> Value {
    let mut request = json!({});
    for field in ["from", "to", "value", "input", "accessList"] {
        if let Some(value) = transaction.get(field) {
            request[field] = value.clone();
        }
    }
    request
}

/// Returns the first signed transaction of each block, if it succeeded, with the number of the block before it.
fn first_signed(chain: &RecordedChain) -> impl Iterator<Item = (Value, u64)> {
    chain.blocks().iter().filter_map(|block| {
        let (transaction, receipt) = RecordedChain::transactions(block).nth(1)?;
        let is_plain = ["0x0", "0x1", "0x2"].iter().any(|kind| transaction["type"] == *kind);
        let parent = number(&block["block"]["number"]).checked_sub(1)?;
        (is_plain && receipt["status"] == "0x1").then(|| (request(transaction), parent))
    })
}

#[test]
fn estimates_of_recorded_transactions_suffice_and_are_minimal() {
    RecordedChain::each(|chain| {
        let mut estimated = 0;
        for (mut request, parent) in first_signed(chain) {
            let at = format!("{parent:#x}");
            let gas = number(&chain.bench.call("eth_estimateGas", &json!([request, at]).to_string()));
            // The gas used, and the number of failed calls: a contract may ignore that one had too little gas.
            let mut trace = |gas: u64| {
                request["gas"] = json!(format!("{gas:#x}"));
                let params = json!([request, at, {"tracer": "callTracer"}]).to_string();
                let trace = chain.bench.try_call("debug_traceCall", &params).ok()?;
                let is_failed = trace.get("error").is_some();
                (!is_failed)
                    .then(|| (number(&trace["gasUsed"]), trace.to_string().matches("\"error\"").count()))
            };
            let place = format!("{gas} after block {parent} of {}", chain.name);
            let (used, failed) = trace(gas).expect(&place);
            let lower = gas * 1000 / 1015 - 1;
            // Refunds are at most a fifth of the gas that was spent.
            let is_spent = used * 5 / 4 >= lower;
            let is_needed = trace(lower).is_none_or(|(_, failed_with_less)| failed_with_less > failed);
            assert!(gas == TRANSFER_GAS || is_spent || is_needed, "{place}");
            estimated += 1;
        }
        assert!(estimated > 3, "{estimated}");
    });
}

#[test]
fn a_paying_call_is_charged_gas_but_no_fee_for_l1() {
    RecordedChain::each(|chain| {
        let head = json!("latest");
        let sender = "0x00000000000000000000000000000000000000aa";
        let call = json!({"from": sender, "to": sender, "gas": "0x5208", "gasPrice": "0x4a817c800"});
        let call_with = |balance: u64| {
            let overrides = json!({sender: {"balance": format!("{balance:#x}")}});
            chain.bench.try_call("eth_call", &json!([call, head, overrides]).to_string())
        };
        assert_eq!(call_with(21_000 * 20_000_000_000), Ok(json!("0x")));
        assert_eq!(call_with(21_000 * 20_000_000_000 - 1).unwrap_err().code, -32000);
    });
}

#[test]
fn inputs_of_precompiled_contracts_are_limited() {
    RecordedChain::each(|chain| {
        let limit = if chain.name == "jovian" { 427 } else { 300 };
        let pairing = |pairs: usize| {
            let input = format!("0x{}", "00".repeat(192 * pairs));
            json!({"to": "0x0000000000000000000000000000000000000008", "input": input})
        };
        let call = |pairs| chain.bench.try_call("eth_call", &json!([pairing(pairs), "latest"]).to_string());
        assert_eq!(call(limit), Ok(json!(format!("0x{:064x}", 1))));
        assert!(call(limit + 1).is_err());
        let config = json!({"tracer": "callTracer"});
        let trace = |pairs| {
            let params = json!([pairing(pairs), "latest", config]).to_string();
            chain.bench.call("debug_traceCall", &params).get("error").is_some()
        };
        assert_eq!((trace(limit), trace(limit + 1)), (false, true));
        let list = |pairs| {
            let params = json!([pairing(pairs), "latest"]).to_string();
            chain.bench.call("eth_createAccessList", &params).get("error").is_some()
        };
        assert_eq!((list(limit), list(limit + 1)), (false, true));
    });
}

#[test]
fn a_simulated_block_has_the_base_fee_and_withdrawals_root_of_the_chain() {
    RecordedChain::each(|chain| {
        for pair in chain.blocks().windows(2).step_by(5) {
            let (block, next) = (&pair[0]["block"], &pair[1]["block"]);
            let payload = json!({"blockStateCalls": [{}, {}], "validation": true});
            let simulated =
                chain.bench.call("eth_simulateV1", &json!([payload, block["number"]]).to_string());
            assert_eq!(simulated[0]["baseFeePerGas"], next["baseFeePerGas"]);
            assert_eq!(simulated[0]["withdrawalsRoot"], block["withdrawalsRoot"]);
            assert_eq!(simulated[1]["parentHash"], simulated[0]["hash"]);
            assert_eq!(simulated[0]["requestsHash"], next["requestsHash"]);
        }
    });
}

#[test]
fn a_simulated_transaction_pays_the_base_fee_to_its_vault() {
    RecordedChain::each(|chain| {
        let (sender, vault) =
            ["0x00000000000000000000000000000000000000aa", "0x4200000000000000000000000000000000000019"]
                .into();
        // The second call reads the balance of the vault: PUSH20 vault BALANCE PUSH0 MSTORE PUSH1 32 PUSH0 RETURN.
        let reader = format!("0x73{}315f5260205ff3", &vault[2..]);
        let code_at = "0x00000000000000000000000000000000000000bb";
        let overrides = json!({sender: {"balance": "0xde0b6b3a7640000"}, code_at: {"code": reader}});
        let fee = json!("0x4a817c800");
        let calls = json!([
            {"from": sender, "to": sender, "gas": "0x5208", "maxFeePerGas": fee},
            {"from": sender, "to": code_at, "gas": "0x186a0", "maxFeePerGas": fee},
        ]);
        let payload =
            json!({"blockStateCalls": [{"stateOverrides": overrides, "calls": calls}], "validation": true});
        let simulated = chain.bench.call("eth_simulateV1", &json!([payload, "latest"]).to_string());
        let before = chain.bench.call("eth_getBalance", &json!([vault, "latest"]).to_string());
        let paid = 21_000 * u128::from(number(&simulated[0]["baseFeePerGas"]));
        let before = u128::from_str_radix(&before.as_str().unwrap()[2..], 16).unwrap();
        assert_eq!(simulated[0]["calls"][1]["returnData"], json!(format!("0x{:064x}", before + paid)));
    });
}
