//! Bodies of submissions: in chunks, in order, with the results of single calls.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use foreseal_testkit::{Fees, Wallet};

use super::Bench;
use crate::{
    context::limits::Limits,
    errors::rpc_error::RpcError,
    request::{
        api::Api,
        submissions::{BodyProgress, Submissions},
    },
};

type Outcome = Result<bytes::Bytes, RpcError>;

fn api(bench: &Bench) -> Arc<Api> {
    Arc::new(bench.api.with_limits(Limits::default()))
}

fn transfer(wallet: &Wallet, nonce: u64) -> Bytes {
    wallet.transfer(nonce, Address::repeat_byte(0xaa), 1, Fees::default())
}

fn call(id: usize, raw: &Bytes) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_sendRawTransaction","params":["{raw}"]}}"#)
}

fn batch(raws: &[Bytes]) -> String {
    let calls: Vec<_> = raws.iter().enumerate().map(|(id, raw)| call(id, raw)).collect();
    format!("[{}]", calls.join(","))
}

fn read(api: &Arc<Api>, body: &str) -> Option<Submissions> {
    Submissions::read(api, body)
}

/// Decodes the chunks from the last to the first. Only the call for the last remaining chunk returns the
/// results.
fn answers(submissions: &Submissions) -> Vec<Outcome> {
    let chunks = (0..submissions.chunks()).rev();
    let mut worked: Vec<_> = chunks.map(|chunk| submissions.work(chunk)).collect();
    let last = worked.pop().expect("there is one");
    assert!(worked.iter().all(|progress| matches!(progress, BodyProgress::Decoding)));
    all(last)
}

/// Returns the answers of a body whose last chunk is decoded.
fn all(progress: BodyProgress) -> Vec<Outcome> {
    match progress {
        BodyProgress::Answered(answers) => answers,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_enters_the_pool_in_order_on_any_thread() {
    let bench = Bench::new(2);
    let raws: Vec<_> =
        (0..20).flat_map(|nonce| bench.wallets.iter().map(move |w| transfer(w, nonce))).collect();
    let submissions = read(&api(&bench), &batch(&raws)).expect("it is plain");
    assert_eq!(submissions.chunks(), 3);
    let answers = answers(&submissions);
    let hashes: Vec<_> = bench.api.node().pool().all().iter().map(|pooled| pooled.hash()).collect();
    assert_eq!(hashes.len(), raws.len());
    for (outcome, hash) in answers.iter().zip(hashes) {
        assert_eq!(outcome.as_deref(), Ok(format!("\"{hash}\"").as_bytes()));
    }
}

#[test]
fn a_batched_call_has_the_same_error_as_alone() {
    let bench = Bench::new(2);
    let good = transfer(&bench.wallets[0], 0);
    let bad = Bytes::from_static(&[0x05, 0xc0]);
    let answers =
        answers(&read(&api(&bench), &batch(&[bad.clone(), good.clone(), good.clone()])).expect("plain"));
    assert!(answers[1].is_ok());
    for (answer, raw) in [(&answers[0], &bad), (&answers[2], &good)] {
        let alone = bench.error("eth_sendRawTransaction", &format!("[\"{raw}\"]"));
        assert_eq!(answer.as_ref(), Err(&alone));
    }
    let none = read(&api(&bench), &call(7, &good).replace(&format!("\"{good}\""), "")).expect("plain");
    assert_eq!(all(none.work(0))[0], Err(bench.error("eth_sendRawTransaction", "[]")));
}

#[test]
fn nothing_enters_before_all_chunks_are_read() {
    let bench = Bench::new(1);
    let raws: Vec<_> = (0..17).map(|nonce| transfer(&bench.wallets[0], nonce)).collect();
    let submissions = read(&api(&bench), &batch(&raws)).expect("it is plain");
    assert!(matches!(submissions.work(0), BodyProgress::Decoding));
    assert_eq!(bench.api.node().pool().all().len(), 0);
    assert_eq!(all(submissions.work(1)).len(), 17);
    assert_eq!(bench.api.node().pool().all().len(), 17);
}

#[test]
fn a_batch_with_invalid_json_in_parameters_is_rejected_completely() {
    let bench = Bench::new(1);
    let api = api(&bench);
    let good = call(1, &transfer(&bench.wallets[0], 0));
    for params in ["[nope]", "[\"0x\",]", "[\"0x\"}", "[1e999]", "[,]", "[\"0x\" \"0x\"]"] {
        let bad =
            format!(r#"{{"jsonrpc":"2.0","id":2,"method":"eth_sendRawTransaction","params":{params}}}"#);
        assert!(read(&api, &format!("[{good},{bad}]")).is_none(), "{params}");
        assert!(read(&api, &bad).is_none(), "{params}");
    }
    assert!(read(&api, &format!("[{good}]")).is_some());
}

#[test]
fn other_bodies_are_not_submissions() {
    let bench = Bench::new(1);
    let one = call(1, &transfer(&bench.wallets[0], 0));
    let other = r#"{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber","params":[]}"#;
    let notification = one.replace("\"id\":1,", "");
    for body in [other, &format!("[{one},{other}]"), &notification, "[]", "{", &format!("{one} 1")] {
        assert!(read(&api(&bench), body).is_none(), "{body}");
    }
    let many = format!("[{}]", vec![one.as_str(); 101].join(","));
    assert!(read(&api(&bench), &many).is_none(), "more than a batch may have");
    assert!(read(&api(&bench), &one).is_some());
}

/// Returns a bench, and a batch of which the second and third submissions are to be verified.
fn batch_with_authorizations() -> (Bench, Submissions) {
    let bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    let list = |nonce| a.set_code(nonce, &b, 0, Address::repeat_byte(7));
    let raws = [transfer(&a, 0), list(1), list(2), transfer(&a, 3)];
    let submissions = read(&api(&bench), &batch(&raws)).expect("it is plain");
    (bench, submissions)
}

/// Submissions with authorizations are verified in a lane of their own, and in the order of the batch.
#[test]
fn a_batch_continues_after_each_verification() {
    let (bench, submissions) = batch_with_authorizations();
    let pooled = || bench.api.node().pool().counts().pooled;
    assert!(matches!(submissions.work(0), BodyProgress::Verification));
    assert_eq!(pooled(), 1);
    assert!(matches!(submissions.verify_next(), BodyProgress::Verification));
    assert_eq!(pooled(), 2);
    let answers = all(submissions.verify_next());
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((pooled(), bench.api.node().pool().counts().queued), (4, 0));
}

/// Submissions after a stopped verification are not admitted: the thread that stopped it serves another caller.
#[test]
fn a_stopped_verification_ends_the_batch() {
    let (bench, submissions) = batch_with_authorizations();
    assert!(matches!(submissions.work(0), BodyProgress::Verification));
    assert!(matches!(submissions.verify_next(), BodyProgress::Verification));
    let full = RpcError::queue_full(8);
    let answers = submissions.stop(&full);
    assert!(answers[..2].iter().all(Result::is_ok));
    assert_eq!(answers[2..], [Err(full.clone()), Err(full)]);
    assert_eq!((bench.api.node().pool().counts().pooled, bench.api.node().pool().counts().queued), (2, 0));
}
