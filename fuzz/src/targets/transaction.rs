//! Signed transactions as encoded in blocks (EIP-2718).

use alloy_consensus::Transaction as _;
use alloy_eips::{Typed2718, eip2718::Encodable2718};
use foreseal_keccak::keccak;
use foreseal_primitives::Transaction;

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "transaction",
    longest: 512,
    memory: Memory { fixed: 1 << 14, each: 128 },
    prepare: nothing,
    run,
};

/// Checks that a decoded transaction has one encoding and that its hash is that of the encoding. It has a
/// sender, or its signature is invalid.
fn run(input: &[u8]) {
    let Ok(envelope) = Transaction::decode_envelope(input) else {
        assert!(Transaction::decode(input).is_err());
        return;
    };
    let encoded = envelope.encoded_2718();
    let again = Transaction::decode_envelope(&encoded).expect("what was encoded decodes");
    assert_eq!(again, envelope);
    assert_eq!(again.encoded_2718(), encoded);
    assert_eq!(*envelope.tx_hash(), keccak(&encoded), "the hash is that of the encoding");
    assert_eq!(encoded.first().is_some_and(|kind| *kind < 0x80), envelope.ty() != 0);
    let authorizations = envelope.authorization_list().map_or(0, <[_]>::len);
    // `trusted` accepts a valid signature as well, and then returns the recovered sender.
    if let Ok(transaction) = Transaction::recover(envelope) {
        assert_eq!(transaction.encoded()[..], encoded);
        assert_eq!(transaction.authorities().len(), authorizations);
        let trusted = Transaction::trusted(transaction.envelope().clone());
        assert!(trusted.is_ok_and(|trusted| trusted == transaction));
    }
}
