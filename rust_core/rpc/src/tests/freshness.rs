//! Invariant 5: when production stalls or ends, every result stays that of the last step, and the status
//! reports its age.

use std::sync::Arc;
use std::time::Duration;

use foreseal_chain::Clock;
use foreseal_replication::SubmitError;
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};
use foreseal_testkit::{Fees, Wallet};
use serde_json::{Value, json};

use super::{Bench, raw_params, settings};
use crate::{
    context::limits::Limits,
    streams::wait::{PendingCall, Reply},
};

/// Read calls whose results must not change while production stalls; only the last one reads the pool.
const READS: [(&str, &str); 9] = [
    ("eth_getBlockByNumber", r#"["pending",true]"#),
    ("eth_getBlockReceipts", r#"["pending"]"#),
    ("eth_getLogs", r#"[{"fromBlock":"pending"}]"#),
    ("eth_getBlockByNumber", r#"["latest",true]"#),
    ("eth_getBlockReceipts", r#"["latest"]"#),
    ("eth_blockNumber", "[]"),
    ("eth_gasPrice", "[]"),
    ("eth_syncing", "[]"),
    ("txpool_status", "[]"),
];

fn reads(bench: &Bench) -> Vec<Value> {
    READS.iter().map(|(method, params)| bench.call(method, params)).collect()
}

/// Creates a chain with a sealed block, a pending block with one transaction, a disk with fault injection,
/// and a wait for that transaction's receipt.
fn building() -> (Bench, SimulatedDisk, PendingCall) {
    let (datadir, wallets, disk) = (tempfile::tempdir().unwrap(), Wallet::some(2), SimulatedDisk::default());
    let settings = settings(datadir.path(), &wallets);
    let mut bench = Bench::open_on(Arc::new(disk.clone()), datadir, settings, wallets, Limits::default());
    bench.seal();
    let transfer = transfer(&bench, 0);
    let executed = wait(&bench, &transfer);
    bench.tick();
    (bench, disk, executed)
}

fn transfer(bench: &Bench, nonce: u64) -> alloy_primitives::Bytes {
    bench.wallets[0].transfer(nonce, bench.wallets[1].address, 1, Fees::default())
}

/// Checks that the pending block follows the latest one and is at step 1 with its one transaction.
fn assert_pending_is_the_last_step(bench: &Bench, when: &str) {
    let (pending, latest) = (
        bench.call("eth_getBlockByNumber", r#"["pending",false]"#),
        bench.call("eth_getBlockByNumber", r#"["latest",false]"#),
    );
    assert_eq!((&pending["number"], &latest["number"]), (&json!("0x2"), &json!("0x1")), "{when}");
    assert_eq!(pending["parentHash"], latest["hash"], "{when}");
    assert_eq!(pending["transactions"].as_array().unwrap().len(), 1, "{when}");
    assert_ne!(pending["hash"], latest["hash"], "{when}");
    let status = bench.call("foreseal_status", "[]");
    assert_eq!(
        (&status["block"], &status["index"], &status["hash"], &status["latest"]),
        (&json!("0x2"), &json!("0x1"), &pending["hash"], &json!("0x1")),
        "{when}"
    );
}

#[test]
fn without_ticks_results_are_unchanged_and_the_age_grows() {
    let (mut bench, ..) = building();
    let before = reads(&bench);
    assert_eq!(bench.call("foreseal_status", "[]")["age"], json!(0));
    let mut age = 0;
    // Far beyond the end of the slot: reads never seal a block.
    for more in [1, 199, 4_800, 1, 3_600_000] {
        bench.clock.advance(Duration::from_millis(more));
        age += more;
        assert_pending_is_the_last_step(&bench, &format!("{age} ms"));
        assert_eq!(reads(&bench), before, "{age} ms");
        let status = bench.call("foreseal_status", "[]");
        assert_eq!((&status["age"], &status["phase"]), (&json!(age), &json!("producing")));
    }
    // The next tick recovers: it seals the block whose slot has ended, unchanged.
    bench.tick();
    assert_eq!(bench.call("foreseal_status", "[]")["age"], json!(0));
    let sealed = bench.call("eth_getBlockByNumber", r#"["0x2",true]"#);
    assert_eq!(sealed["hash"], before[0]["hash"]);
}

#[test]
fn a_full_disk_ends_production_and_submissions_but_not_reads() {
    let (mut bench, disk, executed) = building();
    let before = reads(&bench);
    let pooled = transfer(&bench, 1);
    let waiting = wait(&bench, &pooled);
    let seen = bench.api.node().changes().count();
    disk.fail_at(disk.operations(), DiskFault::Full);
    bench.clock.advance(Duration::from_millis(200));
    let failed = bench.producer.as_mut().unwrap().tick(bench.clock.now(), &mut || true).unwrap_err();
    let reason = failed.to_string();
    assert!(reason.starts_with("cannot write the journal: pre-confirmation stopped: "), "{reason}");
    bench.clock.advance(Duration::from_secs(1));

    assert_pending_is_the_last_step(&bench, "after the failure");
    // Only the call that reads the pool differs: one more transaction.
    let (now, pool) = (reads(&bench), READS.len() - 1);
    assert_eq!((&now[..pool], &now[pool]["pending"]), (&before[..pool], &json!("0x1")));
    let status = bench.call("foreseal_status", "[]");
    assert_eq!(
        (&status["age"], &status["phase"], &status["reason"]),
        (&json!(1_200), &json!("failed"), &json!(reason))
    );
    let health = bench.api.node().status().healthy(bench.api.node().tick_limit());
    assert_eq!(health, Err(format!("production stopped: {reason}")));

    let stopped = SubmitError::Stopped(reason).to_string();
    for method in ["eth_sendRawTransaction", "eth_sendRawTransactionSync"] {
        let error = bench.error(method, &raw_params(&transfer(&bench, 2)));
        assert_eq!((error.code, &error.message), (-32002, &stopped), "{method}");
    }
    // The wait ends with an error before its deadline: the transaction is in the pool, but no step will
    // include it.
    assert_eq!(bench.api.node().changes().count(), seen + 1);
    assert!(bench.api.node().now().monotonic < waiting.deadline());
    let error = bench.api.poll(method(), &waiting).unwrap_err();
    assert_eq!((error.code, &error.message), (-32002, &stopped));
    assert!(bench.api.node().pool().contains(&alloy_primitives::keccak256(&pooled)));
    // A transaction that was executed before still has its receipt.
    assert!(bench.api.poll(method(), &executed).unwrap().is_some());
}

/// Returns the wait for the receipt of a pooled transaction.
fn wait(bench: &Bench, raw: &[u8]) -> PendingCall {
    match bench.api.begin(Some(&bench.view()), method(), raw_params(raw).as_bytes()) {
        Ok(Reply::Later(wait)) => wait,
        other => panic!("{other:?}"),
    }
}

fn method() -> &'static crate::Method {
    crate::method("eth_sendRawTransactionSync").unwrap()
}
