//! Signed transactions as blocks have them (EIP-2718).

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Encodable2718;
use foreseal_types::{Transaction, keccak};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "transaction",
    longest: 512,
    memory: Memory { fixed: 1 << 14, each: 128 },
    prepare: nothing,
    run,
};

/// What decodes has one encoding, is named by its hash, and has a sender or a signature that is none.
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
    assert_eq!(encoded.first().is_some_and(|kind| *kind < 0x80), envelope.tx_type() as u8 != 0);
    let authorizations = envelope.authorization_list().map_or(0, <[_]>::len);
    // Whoever gives a sender with it is believed, as in the journal.
    if let Ok(transaction) = Transaction::recover(envelope) {
        assert_eq!(transaction.encoded()[..], encoded);
        assert_eq!(transaction.authorities().len(), authorizations);
        let trusted = Transaction::trusted(transaction.envelope().clone());
        assert!(trusted.is_ok_and(|trusted| trusted == transaction));
    }
}
