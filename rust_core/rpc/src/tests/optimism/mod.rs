//! Methods over the recorded OP chains, compared with what op-geth answered.
//!
//! The recordings are not part of this repository: without them the tests are skipped.

mod calls;
mod fees;
mod recorded_answers;
mod submissions;
mod traces;

use std::{fs, sync::Arc};

use alloy_rlp::Encodable;
use foreseal_conformance::ChainRecording;
use foreseal_journal::RealDisk;
use foreseal_node::import_chain;
use serde_json::Value;

use super::{Bench, settings};
use crate::context::limits::Limits;

/// A node that serves a recorded chain, and what op-geth answered about it.
struct RecordedChain {
    name: &'static str,
    bench: Bench,
    expected: Value,
}

impl RecordedChain {
    /// Imports every recorded chain in turn and runs `check` on it.
    fn each(mut check: impl FnMut(&Self)) {
        for recording in ChainRecording::read_all() {
            check(&Self::import(recording));
        }
    }

    fn import(recording: ChainRecording) -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let chain = datadir.path().join("chain.rlp");
        let mut blocks = Vec::new();
        recording.blocks.iter().for_each(|block| block.encode(&mut blocks));
        fs::write(&chain, blocks).unwrap();
        let mut settings = settings(&datadir.path().join("node"), &[]);
        settings.genesis = Some(recording.genesis);
        settings.produce = false;
        import_chain(&settings, Arc::new(RealDisk), &chain, &mut |_| true).unwrap();
        let bench = Bench::open(datadir, settings, vec![], Limits::default());
        Self { name: recording.name, bench, expected: recording.expected }
    }

    fn blocks(&self) -> &[Value] {
        self.expected["blocks"].as_array().unwrap()
    }

    /// Returns the recorded transactions of a block with their receipts.
    fn transactions(block: &Value) -> impl Iterator<Item = (&Value, &Value)> {
        let transactions = block["block"]["transactions"].as_array().unwrap();
        transactions.iter().zip(block["receipts"].as_array().unwrap())
    }
}
