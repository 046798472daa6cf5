//! Replacements of transactions that a step is about to include.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::{Arc, OnceLock, Weak};

use foreseal_chain::{Clock, SteppedClock};
use foreseal_node::{InspectionPoint, Node, Watcher};
use foreseal_testkit::{Fees, Wallet};
use parking_lot::Mutex;
use support::{OTHER_ACCOUNT, STEP, environment, settings};

/// Submits a replacement at each point of a step and records the error, or `None` if it was acknowledged.
#[derive(Default)]
struct Replacer {
    node: OnceLock<Weak<Node>>,
    raw: Mutex<Vec<u8>>,
    errors: Mutex<Vec<(InspectionPoint, Option<String>)>>,
}

impl Watcher for Replacer {
    fn reached(&self, point: InspectionPoint) {
        let raw = self.raw.lock().clone();
        if !raw.is_empty() {
            let node = self.node.get().and_then(Weak::upgrade).unwrap();
            let error = node.submit(&raw).err().map(|error| error.to_string());
            self.errors.lock().push((point, error));
        }
    }
}

fn replaced_during_a_step() -> Vec<(InspectionPoint, Option<String>)> {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let clock = Arc::new(SteppedClock::default());
    let node = Arc::new(Node::open(settings(datadir.path(), &wallets), environment(clock.clone())).unwrap());
    let replacer = Arc::new(Replacer::default());
    replacer.node.set(Arc::downgrade(&node)).unwrap();
    let mut producer = node.start_watched(replacer.clone()).unwrap().unwrap();
    let fees = Fees { max_fee: 2 * Fees::default().max_fee, tip: 2 * Fees::default().tip };
    *replacer.raw.lock() = wallets[0].transfer(0, OTHER_ACCOUNT, 2, fees).to_vec();
    let original = node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 1, Fees::default())).unwrap();
    clock.advance(STEP);
    producer.tick(clock.now(), &mut || true).unwrap();
    let view = node.view().unwrap();
    assert!(view.transaction(&original).unwrap().is_some());
    std::mem::take(&mut replacer.errors.lock())
}

#[test]
fn a_replacement_during_a_step_is_rejected() {
    let errors = replaced_during_a_step();
    let points: Vec<_> = errors.iter().map(|(point, _)| *point).collect();
    assert!(points.contains(&InspectionPoint::BeforeAppend) && points.contains(&InspectionPoint::Published));
    for (point, error) in errors {
        assert_eq!(error.as_deref(), Some("nonce too low"), "{point:?}");
    }
}
