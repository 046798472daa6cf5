//! Traces of blocks in which development methods wrote state between the transactions, and of unsigned
//! transactions.

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use foreseal_primitives::{Change, Override, Transaction};
use foreseal_testkit::{Contract, Fees};
use serde_json::{Value, json};

use super::Bench;

fn write(bench: &Bench, address: Address, change: Change) {
    bench.api.node().develop(|development| development.write(&Override { address, change })).unwrap();
}

/// Calls a contract in its own step.
fn call(bench: &mut Bench, nonce: u64, to: Address) -> B256 {
    let raw = bench.wallets[0].eip1559(nonce, to.into(), U256::ZERO, 100_000, Bytes::new(), Fees::default());
    let hash = bench.submit(&raw);
    bench.tick();
    hash
}

fn prestate(bench: &Bench, hash: B256) -> Value {
    bench.call("debug_traceTransaction", &format!("[\"{hash}\",{{\"tracer\":\"prestateTracer\"}}]"))
}

/// Checks that traces agree with receipts, also for state that no transaction of the block wrote.
fn compare_with_receipts(bench: &Bench, tag: &str) {
    let receipts = bench.call("eth_getBlockReceipts", &format!("[{tag}]"));
    let traces = bench.call("debug_traceBlockByNumber", &format!("[{tag},{{\"tracer\":\"callTracer\"}}]"));
    let (receipts, traces) = (receipts.as_array().unwrap(), traces.as_array().unwrap());
    assert_eq!((receipts.len(), traces.len()), (3, 3));
    for (receipt, trace) in receipts.iter().zip(traces) {
        assert_eq!(trace["txHash"], receipt["transactionHash"]);
        assert_eq!(trace["result"]["gasUsed"], receipt["gasUsed"]);
        assert_eq!(trace["result"].get("error").is_none(), receipt["status"] == json!("0x1"));
    }
}

#[test]
fn traces_see_overrides_between_the_transactions() {
    let mut bench = Bench::developing(1);
    let counter = Contract::Counter.address();
    let slot = |value: u64| Change::Slot { slot: U256::ZERO, value: U256::from(value) };
    bench.seal();
    write(&bench, counter, slot(0x40));
    let first = call(&mut bench, 0, counter);
    write(&bench, counter, slot(0x77));
    write(&bench, counter, Change::Balance(U256::from(5)));
    let second = call(&mut bench, 1, counter);
    // Overwrites state that the block's own transactions wrote: a zero slot, then new code.
    write(&bench, counter, slot(0));
    write(&bench, Address::repeat_byte(0x77), Change::Code(Bytes::from_static(&hex!("5f5f5f5f5f73"))));
    write(&bench, counter, Change::Code(Bytes::from_static(&hex!("5f545ffd"))));
    let third = call(&mut bench, 2, counter);
    let key = B256::ZERO.to_string();
    let account = |bench: &Bench, hash| prestate(bench, hash)[&format!("{counter:#x}")].clone();
    let check = |bench: &Bench, tag: &str| {
        let slots = [first, second].map(|hash| account(bench, hash)["storage"][&key].clone());
        let uint256 = |value: u8| json!(B256::with_last_byte(value));
        assert_eq!(slots, [uint256(0x40), uint256(0x77)]);
        assert_eq!(
            (&account(bench, first)["balance"], &account(bench, second)["balance"]),
            (&json!("0x0"), &json!("0x5"))
        );
        let last = account(bench, third);
        assert_eq!((&last["code"], &last["balance"]), (&json!("0x5f545ffd"), &json!("0x5")));
        compare_with_receipts(bench, tag);
    };
    check(&bench, "\"pending\"");
    let number = bench.view().pending().number();
    bench.seal();
    check(&bench, &format!("\"{number:#x}\""));
}

#[test]
fn a_transaction_of_an_impersonated_contract_is_traced() {
    let mut bench = Bench::developing(1);
    let counter = Contract::Counter.address();
    write(&bench, counter, Change::Balance(U256::from(10_u64.pow(18))));
    let transaction = TxEip1559 {
        chain_id: bench.api.node().spec().chain_id(),
        nonce: bench
            .call("eth_getTransactionCount", &format!("[\"{counter}\",\"pending\"]"))
            .as_str()
            .unwrap()
            .parse::<U256>()
            .unwrap()
            .to(),
        gas_limit: 50_000,
        max_fee_per_gas: 2_000_000_000,
        max_priority_fee_per_gas: 1,
        to: TxKind::Call(Contract::Logger.address()),
        ..TxEip1559::default()
    };
    let transaction = Transaction::impersonated(transaction.into(), counter);
    let hash = bench.api.node().submit_impersonated(transaction).unwrap();
    bench.tick();
    let signed = call(&mut bench, 0, counter);
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    assert_eq!(receipt["status"], json!("0x1"));
    let config = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
    let trace = bench.call("debug_traceTransaction", &format!("[\"{hash}\",{config}]"));
    assert_eq!((&trace["from"], &trace["gasUsed"]), (&json!(counter), &receipt["gasUsed"]));
    assert_eq!(trace["logs"][0]["data"], receipt["logs"][0]["data"]);
    let both = bench.call("debug_traceBlockByNumber", &format!("[\"pending\",{config}]"));
    assert_eq!((&both[0]["result"], &both[1]["txHash"]), (&trace, &json!(signed)));
}
