//! Cost of signed steps: the signature alone, and the append of a step with and without it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use criterion::{Criterion, criterion_group, criterion_main};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_node::StepSigner;
use foreseal_primitives::{CommitmentDomain, Flashblock, FlashblockCommitment, Transaction};
use foreseal_testkit::{Fees, Wallet};

const CHAIN: u64 = 31_337;
/// Transactions of a step.
const TRANSACTIONS: u64 = 100;

fn step() -> Flashblock {
    let wallet = Wallet::some(1).remove(0);
    let transfer = |nonce| wallet.transfer(nonce, wallet.address, 1, Fees::default());
    let transaction = |nonce| Arc::new(Transaction::decode(&transfer(nonce)).expect("it is signed"));
    let header = Header { number: 7, ..Header::default() };
    Flashblock {
        number: 7,
        index: 3,
        previous: B256::repeat_byte(1),
        hash: header.hash_slow(),
        header,
        time: 1_700_000_000_000,
        signature: None,
        transactions: (0..TRANSACTIONS).map(transaction).collect(),
        receipts: Vec::new(),
        diff: Arc::default(),
        end_of_block_diff: Arc::default(),
    }
}

fn signing(criterion: &mut Criterion) {
    let signer = StepSigner::new(B256::repeat_byte(1), CHAIN).expect("a key");
    let (step, domain) = (step(), CommitmentDomain::new(CHAIN));
    let promise = FlashblockCommitment::from(&step);
    let signature = signer.sign(&promise);
    let signed = |time: u64| {
        let mut step = Flashblock { time, ..step.clone() };
        step.signature = Some(signer.sign(&FlashblockCommitment::from(&step)));
        [Record::Step(Arc::new(step))]
    };
    let unsigned = |time: u64| [Record::Step(Arc::new(Flashblock { time, ..step.clone() }))];
    let mut group = criterion.benchmark_group("signing");
    group.bench_function("sign a step", |bencher| bencher.iter(|| signer.sign(&promise)));
    group.bench_function("recover its signer", |bencher| bencher.iter(|| promise.signer(domain, &signature)));
    let folder =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the disk that is measured");
    let identity = Identity { chain_id: CHAIN, genesis: B256::ZERO };
    let opened =
        LocalJournal::open(folder.path(), Arc::new(RealDisk), JournalOptions::new(identity, [7; 32]));
    let mut journal = opened.expect("a new journal").0;
    let mut append = |records: &[Record]| {
        let sequence = journal.append(records).expect("the disk has room");
        if sequence.is_multiple_of(4_000) {
            journal.remove_segments_before(sequence).expect("removed");
        }
        sequence
    };
    let mut time = 0;
    group.bench_function("append a step of 100 transfers", |bencher| {
        bencher.iter(|| {
            time += 1;
            append(&unsigned(time))
        });
    });
    group.bench_function("sign and append a step of 100 transfers", |bencher| {
        bencher.iter(|| {
            time += 1;
            append(&signed(time))
        });
    });
    group.finish();
}

criterion_group!(benches, signing);
criterion_main!(benches);
