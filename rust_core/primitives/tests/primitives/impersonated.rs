//! Unsigned transactions of development nodes.

use alloy_consensus::{TxEip1559, TxEip2930, TxEip7702, TxLegacy};
use alloy_primitives::{Address, U256, keccak256};
use foreseal_primitives::{Transaction, TransactionError, Unsigned};

const SENDERS: [Address; 3] = [Address::ZERO, Address::repeat_byte(0xee), Address::repeat_byte(1)];

fn every_kind() -> [Unsigned; 4] {
    let chain_id = 31_337;
    [
        TxLegacy { chain_id: Some(chain_id), nonce: 1, ..TxLegacy::default() }.into(),
        TxEip2930 { chain_id, nonce: 2, ..TxEip2930::default() }.into(),
        TxEip1559 { chain_id, nonce: 3, ..TxEip1559::default() }.into(),
        TxEip7702 { chain_id, nonce: 4, ..TxEip7702::default() }.into(),
    ]
}

#[test]
fn impersonated_transactions_encode_their_sender() {
    for unsigned in every_kind() {
        for sender in SENDERS {
            let made = Transaction::impersonated(unsigned.clone(), sender);
            assert!(made.is_impersonated());
            assert_eq!((made.sender(), made.hash()), (sender, keccak256(made.encoded())));
            let envelope = Transaction::decode_envelope(made.encoded()).unwrap();
            assert_eq!(Transaction::trusted(envelope).unwrap(), made);
        }
    }
}

#[test]
fn equal_transactions_of_two_senders_have_different_hashes() {
    let [unsigned, ..] = every_kind();
    let hashes = SENDERS.map(|sender| Transaction::impersonated(unsigned.clone(), sender).hash());
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
}

/// A node rejects such bytes when it receives them from outside.
#[test]
fn impersonated_signatures_recover_no_account() {
    for unsigned in every_kind() {
        for sender in SENDERS {
            let bytes = Transaction::impersonated(unsigned.clone(), sender).encoded().clone();
            assert_eq!(Transaction::decode(&bytes).unwrap_err(), TransactionError::Signature);
        }
    }
}

#[test]
fn a_zero_s_without_an_address_is_never_trusted() {
    use alloy_consensus::SignableTransaction;
    let signature = alloy_primitives::Signature::new(U256::MAX, U256::ZERO, false);
    let envelope = TxLegacy::default().into_signed(signature);
    assert_eq!(Transaction::trusted(envelope).unwrap_err(), TransactionError::Signature);
}
