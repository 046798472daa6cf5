//! Pending equals sealed: results at a block's last step equal those for the sealed block, byte for byte.

use alloy_eips::{eip2935, eip4788, eip7002, eip7251};
use alloy_primitives::{Address, B256};
use foreseal_chain::View;
use foreseal_primitives::Block;
use foreseal_testkit::{Contract, TransactionKinds, Wallet, Workload};

use super::{Bench, block_calls};

/// Number of blocks in the test.
const BLOCKS: u64 = 200;

/// Accounts in the calls about balance, nonce and code.
fn addresses(wallets: &[Wallet]) -> Vec<Address> {
    let system = [
        eip4788::BEACON_ROOTS_ADDRESS,
        eip2935::HISTORY_STORAGE_ADDRESS,
        eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
        eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
        Address::ZERO,
    ];
    let wallets = wallets.iter().map(|wallet| wallet.address);
    wallets.chain(Contract::ALL.map(Contract::address)).chain(system).collect()
}

const CALLS: &str = r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#;

/// Returns trace calls of a block with every tracer.
fn traces(hash: &B256) -> Vec<(&'static str, String)> {
    let several = r#"{"flatCallTracer":{},"4byteTracer":{},"prestateTracer":{},"callTracer":{}}"#;
    vec![
        ("debug_traceBlockByNumber", format!("[TAG,{CALLS}]")),
        ("debug_traceBlockByNumber", "[TAG,{\"enableMemory\":true,\"enableReturnData\":true}]".to_owned()),
        (
            "debug_traceBlockByHash",
            format!("[\"{hash}\",{{\"tracer\":\"muxTracer\",\"tracerConfig\":{several}}}]"),
        ),
        (
            "debug_traceBlockByHash",
            format!("[\"{hash}\",{{\"tracer\":\"prestateTracer\",\"tracerConfig\":{{\"diffMode\":true}}}}]"),
        ),
    ]
}

/// Returns calls about the pending block, with `TAG` as its placeholder.
pub(super) fn queries(wallets: &[Wallet], view: &View) -> Vec<(&'static str, String)> {
    queries_about(wallets, &view.pending().block)
}

pub(super) fn queries_about(wallets: &[Wallet], block: &Block) -> Vec<(&'static str, String)> {
    let mut queries = vec![
        ("eth_getBlockByNumber", "[TAG,false]".to_owned()),
        ("eth_getBlockByNumber", "[TAG,true]".to_owned()),
        ("eth_getBlockReceipts", "[TAG]".to_owned()),
        ("eth_getLogs", "[{\"fromBlock\":TAG,\"toBlock\":TAG}]".to_owned()),
        ("eth_feeHistory", "[\"0x4\",TAG,[5,50,95]]".to_owned()),
        ("eth_getBlockByHash", format!("[\"{}\",true]", block.hash)),
        ("eth_getBlockReceipts", format!("[\"{}\"]", block.hash)),
        ("eth_getLogs", format!("[{{\"blockHash\":\"{}\"}}]", block.hash)),
    ];
    queries.extend(traces(&block.hash));
    for transaction in &block.transactions {
        queries.push(("debug_traceTransaction", format!("[\"{}\",{CALLS}]", transaction.hash())));
        queries.push(("eth_getTransactionByHash", format!("[\"{}\"]", transaction.hash())));
        queries.push(("eth_getTransactionReceipt", format!("[\"{}\"]", transaction.hash())));
    }
    for receipt in &block.receipts {
        if let Some(created) = receipt.contract_address {
            queries.push(("eth_getCode", format!("[\"{created}\",TAG]")));
        }
    }
    for address in addresses(wallets) {
        queries.push(("eth_getBalance", format!("[\"{address}\",TAG]")));
        queries.push(("eth_getTransactionCount", format!("[\"{address}\",TAG]")));
        queries.push(("eth_getCode", format!("[\"{address}\",TAG]")));
        for slot in 0..4 {
            queries.push(("eth_getStorageAt", format!("[\"{address}\",\"{slot:#x}\",TAG]")));
        }
    }
    for contract in Contract::ALL {
        let (from, to) = (wallets[0].address, contract.address());
        let object = format!("{{\"from\":\"{from}\",\"to\":\"{to}\"}}");
        let state = format!("{{\"{to}\":{{\"balance\":\"0x7\",\"stateDiff\":{{\"0x0\":\"0x9\"}}}}}}");
        for method in ["eth_call", "eth_estimateGas"] {
            queries.push((method, format!("[{object},TAG]")));
            queries.push((method, format!("[{object},TAG,{state},{{\"feeRecipient\":\"{from}\"}}]")));
        }
        queries.push(("eth_createAccessList", format!("[{object},TAG]")));
        queries.push(("eth_createAccessList", format!("[{object},TAG,{state}]")));
    }
    queries.extend(block_calls::about(block, &addresses(wallets)));
    queries
}

pub(super) fn answers(bench: &Bench, queries: &[(&'static str, String)], tag: &str) -> Vec<String> {
    let view = bench.view();
    let call = |(method, params): &(&str, String)| {
        let answer = bench.api.call(Some(&view), method, params.replace("TAG", tag).as_bytes());
        match answer {
            Ok(json) => format!("{method} {params}: {}", String::from_utf8_lossy(&json)),
            Err(error) => format!("{method} {params}: {error:?}"),
        }
    };
    queries.iter().map(call).collect()
}

/// Invariant 3: random workloads with every transaction type, including blobs and requests to system
/// contracts. The pool is empty at the last step.
#[test]
fn results_at_the_last_step_equal_the_sealed_block() {
    let mut bench = Bench::new(8);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 5);
    let (mut kinds, mut failures, mut compared) = ([0_u64; 5], 0, 0);
    for block in 0..BLOCKS {
        for round in 0..3 {
            for _ in 0..(block + round) % 7 {
                bench.submit(&workload.next_transaction());
            }
            if block % 25 == 0 && round == 1 {
                bench.submit(&workload.next_blob());
            }
            bench.tick();
        }
        while bench.api.node().pool().counts().pooled > 0 {
            bench.tick();
        }
        let view = bench.view();
        let number = view.pending().number();
        let queries = queries(&bench.wallets, &view);
        let before = answers(&bench, &queries, "\"pending\"");
        bench.seal();
        assert_eq!(bench.view().latest().number(), number, "the slot did not end while it was being filled");
        let after = answers(&bench, &queries, &format!("\"{number:#x}\""));
        for (before, after) in before.iter().zip(after) {
            assert_eq!(*before, after);
            compared += 1;
        }
        for receipt in &view.pending().block.receipts {
            kinds[usize::from(receipt.kind)] += 1;
            failures += u64::from(!receipt.succeeded());
        }
    }
    assert!(kinds.iter().all(|count| *count >= 8), "every kind of transaction was in it: {kinds:?}");
    assert!(failures > 50, "reverts were in it: {failures}");
    println!(
        "{compared} answers compared over {BLOCKS} blocks, transactions by type {kinds:?}, {failures} failed"
    );
}
