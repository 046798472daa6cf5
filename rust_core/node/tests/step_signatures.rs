//! Metadata of a step: its time and its signature.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256};
use foreseal_chain::{Clock, View};
use foreseal_journal::RealDisk;
use foreseal_node::{
    ControlError, Development, DevelopmentControl, KeyError, NodeError, Settings, StepSigner,
};
use foreseal_primitives::{CommitmentDomain, FlashblockCommitment, StepSignature};
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, balance, open_node, settings, start};

/// Number, index, hash, time and signature of a step.
type StepMetadata = (u64, usize, B256, u64, Option<StepSignature>);

/// Returns the metadata of every step of a view, oldest first.
fn step_metadata(view: &View) -> Vec<StepMetadata> {
    let sealed = (0..=view.latest().number()).map(|number| view.sealed(number).unwrap().unwrap());
    let blocks = sealed.chain([view.pending().clone()]);
    let steps = |block: Arc<foreseal_chain::ExecutedBlock>| {
        let number = block.number();
        let of_step = |(index, step): (usize, &Arc<foreseal_chain::Step>)| {
            (number, index, step.hash, step.time, step.signature)
        };
        block.steps.iter().enumerate().map(of_step).collect::<Vec<_>>()
    };
    blocks.flat_map(steps).collect()
}

fn millis(bench: &Bench) -> u64 {
    u64::try_from(bench.clock.now().unix.as_millis()).unwrap()
}

/// Steps from memory, from the journal's replay and from the store.
#[test]
fn steps_preserve_their_creation_time() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let mut made = vec![millis(&bench)];
    for tick in 0..60 {
        if tick % 3 > 0 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        let before = step_metadata(&bench.view()).len();
        bench.tick();
        let new = step_metadata(&bench.view()).len() - before;
        made.extend(std::iter::repeat_n(millis(&bench), new));
    }
    let shown = step_metadata(&bench.view());
    assert_eq!(shown.iter().map(|step| step.3).collect::<Vec<_>>(), made);
    assert!(shown.len() > 40 && bench.view().latest().number() > 3);

    let clock = bench.clock.clone();
    drop(bench);
    let bench = Bench::open(settings(datadir.path(), &wallets), clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(step_metadata(&bench.view()), shown);
}

/// A chain that reverts to a snapshot shows the original steps; they are not made again.
#[test]
fn a_restored_step_has_its_original_time_and_signature() {
    let (datadir, wallets, mut bench) = start();
    bench.node.submit(&wallets[0].transfer(0, wallets[1].address, 1, Fees::default())).unwrap();
    bench.tick();
    let (then, snapshot) =
        (step_metadata(&bench.view()), bench.node.develop(|development| development.snapshot()).unwrap());
    bench.node.develop(|development| development.write(&balance(5))).unwrap();
    bench.tick();
    assert!(bench.node.develop(|development| development.revert(snapshot)).unwrap());
    assert_eq!(step_metadata(&bench.view()), then);

    let clock = bench.clock.clone();
    drop(bench);
    let settings =
        Settings { development: Some(Development::default()), ..settings(datadir.path(), &wallets) };
    let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(step_metadata(&bench.view()), then);
}

/// A control request rebuilds an identical block. It is not published, so its steps must keep their times.
#[test]
fn an_identically_rebuilt_step_preserves_its_time_and_signature() {
    let (_datadir, wallets, mut bench) = start();
    bench.node.develop(|development| development.set_base_fee(7)).unwrap();
    bench.node.submit(&wallets[0].transfer(0, wallets[1].address, 1, Fees::default())).unwrap();
    bench.tick();
    let then = step_metadata(&bench.view());
    bench.clock.advance(Duration::from_millis(100));
    bench.node.develop(|development| development.set_base_fee(7)).unwrap();
    assert_eq!(step_metadata(&bench.view()), then);
    bench.node.develop(|development| development.set_base_fee(8)).unwrap();
    let now = step_metadata(&bench.view());
    assert!(now.iter().all(|step| step.3 == millis(&bench)), "these are others");
}

/// Asserts that `signer` signed every step of a view with the hash of the previous one. Returns the number of
/// steps.
fn assert_signed(view: &View, chain_id: u64, signer: Address) -> usize {
    let domain = CommitmentDomain::new(chain_id);
    let steps = step_metadata(view);
    let mut parent = view.sealed(0).unwrap().unwrap().block.hash;
    for (number, index, hash, time, signature) in &steps {
        let commitment = FlashblockCommitment {
            number: *number,
            index: u64::try_from(*index).unwrap(),
            hash: *hash,
            previous: parent,
            time: *time,
        };
        assert_eq!(commitment.signer(domain, &signature.unwrap()), Some(signer), "{number} {index}");
        parent = *hash;
    }
    steps.len()
}

/// The first start creates the key, and the second start finds it.
#[test]
fn every_step_is_signed_by_the_key_of_the_folder() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let signer = bench.node.status().signer.unwrap();
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    for restart in [true, true, false] {
        for _ in 0..25 {
            bench.node.submit(&workload.next_transaction()).unwrap();
            bench.tick();
        }
        if restart {
            let clock = bench.clock.clone();
            drop(bench);
            bench = Bench::open(settings(datadir.path(), &wallets), clock, Arc::new(RealDisk)).unwrap();
        }
    }
    assert_eq!(bench.node.status().signer, Some(signer));
    let chain_id = bench.node.spec().chain_id();
    assert!(assert_signed(&bench.view(), chain_id, signer) > 75);
    assert_eq!(
        std::fs::read_to_string(datadir.path().join("sequencer.key")).unwrap().trim(),
        "01".repeat(32)
    );
}

/// Steps made by overrides, mining and reorgs are signed like any other step.
#[test]
fn every_kind_of_step_is_signed() {
    let (_datadir, wallets, mut bench) = start();
    bench.node.submit(&wallets[0].transfer(0, wallets[1].address, 1, Fees::default())).unwrap();
    bench.tick();
    let act = |act: &dyn Fn(&mut DevelopmentControl<'_>) -> Result<(), ControlError>| {
        bench.node.develop(|development| act(development)).unwrap();
    };
    act(&|writer| writer.write(&balance(5)));
    act(&|writer| writer.mine(3, None));
    act(&|writer| writer.set_next_timestamp(2_000_000));
    act(&|writer| writer.reorg(&[vec![], vec![]]));
    bench.node.control(|sequencer| sequencer.unwind(1)).unwrap();
    let (chain_id, signer) = (bench.node.spec().chain_id(), bench.node.status().signer.unwrap());
    assert!(assert_signed(&bench.view(), chain_id, signer) > 3);
}

#[test]
fn a_configured_key_signs_and_the_folder_gets_none() {
    let (datadir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wallets = Wallet::some(1);
    let path = elsewhere.path().join("key");
    std::fs::write(&path, "02".repeat(32)).unwrap();
    let with_key = Settings { sequencer_key: Some(path.clone()), ..settings(datadir.path(), &wallets) };
    let open = || Bench::open(with_key.clone(), Arc::default(), Arc::new(RealDisk));
    let Err(NodeError::Key(error)) = open() else { panic!("others can read it") };
    assert!(matches!(error, KeyError::Permissions { .. }), "{error}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let bench = open().unwrap();
    let signer = StepSigner::new(B256::repeat_byte(2), 1).unwrap().address();
    assert_eq!(bench.node.status().signer, Some(signer));
    assert_signed(&bench.view(), bench.node.spec().chain_id(), signer);
    assert!(!datadir.path().join("sequencer.key").exists());
}

#[test]
fn a_read_only_node_generates_no_key() {
    let datadir = tempfile::tempdir().unwrap();
    let serving = Settings { produce: false, ..settings(datadir.path(), &Wallet::some(1)) };
    let node = open_node(serving).unwrap();
    assert!(node.start_stepped().unwrap().is_none());
    assert_eq!(node.status().signer, None);
    assert!(!datadir.path().join("sequencer.key").exists());
}
