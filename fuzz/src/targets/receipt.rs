//! Receipts of pre-confirmations from untrusted sources.

use std::sync::LazyLock;

use alloy_primitives::Address;
use foreseal_rpc::{InvalidReceipt, PreconfirmationReceipt, VerifiedPreconfirmation, contradiction};

use super::methods::CHAIN;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "receipt",
    longest: 3072,
    memory: Memory { fixed: 1 << 16, each: 256 },
    prepare: || {
        LazyLock::force(&KEPT);
    },
    run,
};

struct Kept {
    signer: Address,
    /// Verified content of each receipt.
    promises: Vec<VerifiedPreconfirmation>,
}

/// All pre-confirmations of the chain's sequencer, and its address.
static KEPT: LazyLock<Kept> = LazyLock::new(|| {
    let chain = CHAIN.lock().expect("no run failed");
    let signer = chain.api.node().status().signer.expect("the chain's steps are signed");
    let receipts = chain.receipts();
    let promises = receipts.iter().map(|json| {
        let receipt = PreconfirmationReceipt::parse(json).expect("a receipt that was given parses");
        receipt.verify(Some(signer), None).expect("a receipt that was given holds")
    });
    Kept { signer, promises: promises.collect() }
});

/// Checks that a receipt which verifies for the sequencer contains exactly one of its pre-confirmations.
fn run(input: &[u8]) {
    let receipt = match PreconfirmationReceipt::parse(input) {
        Ok(receipt) => receipt,
        Err(misfit) => {
            return assert!(!misfit.why.is_empty() && misfit.to_string().len() < input.len() + 500);
        }
    };
    let anyone = receipt.verify(None, None);
    match receipt.verify(Some(KEPT.signer), None) {
        Ok(shown) => {
            assert!(KEPT.promises.contains(&shown), "nobody promised {shown:?}");
            assert_eq!(anyone, Ok(shown));
            let other = shown.chain_id ^ 1;
            assert!(
                receipt
                    .verify(None, Some(other))
                    .is_err_and(|misfit| misfit.field == InvalidReceipt::ChainId)
            );
            assert_eq!(contradiction(&receipt, &receipt), Ok(None), "a promise does not contradict itself");
        }
        Err(misfit) => {
            assert!(!misfit.why.is_empty());
            assert!(anyone.is_err() || misfit.field == InvalidReceipt::Signer, "{misfit}");
        }
    }
}
