//! Slow checks of submissions: blob proofs and signatures of authorizations, after all others.

use alloy_consensus::TxEip7702;
use alloy_eips::{
    eip7594::BlobTransactionSidecarVariant as Sidecar,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, Bytes, Signature, U256};
use foreseal_pool::{CheckedTransaction, PoolError, UnverifiedTransaction, decode_unverified};
use foreseal_primitives::{DEV_CHAIN_ID, wire};

use crate::{
    blobs::{FEES, SIDECARS, blob, cells},
    chain::{Chain, GWEI, Key, pool, rich},
};

/// Number of authorizations of a list.
const AUTHORIZATIONS: usize = 600;

/// Returns a blob transaction with a wrong proof.
fn wrong_proof(key: &Key) -> Vec<u8> {
    let mut sidecar = SIDECARS[0].1.clone();
    sidecar.cell_proofs.swap(0, 1);
    blob(key, FEES, Sidecar::Eip7594(sidecar))
}

fn authorization(index: usize) -> Authorization {
    Authorization { chain_id: U256::from(DEV_CHAIN_ID), address: Address::ZERO, nonce: index as u64 }
}

/// Returns a list of authorizations of which only the first has a signature of `signer`.
fn list(key: &Key, signer: &Key) -> Vec<u8> {
    let signature = signer.sign(authorization(0).signature_hash());
    let junk = Signature::new(U256::MAX, U256::from(1), false);
    let others = (1..AUTHORIZATIONS).map(|index| authorization(index).into_signed(junk));
    let first: SignedAuthorization = authorization(0).into_signed(signature);
    key.raw(TxEip7702 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 16_000_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: key.address,
        authorization_list: std::iter::once(first).chain(others).collect(),
        ..TxEip7702::default()
    })
}

fn decode(chain: &Chain, raw: &[u8]) -> Result<UnverifiedTransaction, PoolError> {
    decode_unverified(raw, &pool().rules(&chain.spec, &chain.header))
}

#[test]
fn proofs_are_verified_after_the_checks_of_the_state() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let submission = decode(&chain, &wrong_proof(&key)).expect("proofs are not verified yet");
    assert!(!submission.verification_time().is_zero());
    assert_eq!(pool.precheck(&submission, || &chain), Ok(()));
    assert_eq!((pool.counts(), pool.metrics()), Default::default(), "nothing was added");

    chain.fund(&key, 0);
    let poor = pool.precheck(&submission, || &chain);
    assert!(matches!(poor, Err(PoolError::InsufficientFunds { .. })), "{poor:?}");
    chain.set_nonce(&key, 1);
    let late = pool.precheck(&submission, || &chain);
    assert!(matches!(late, Err(PoolError::NonceTooLow { .. })), "{late:?}");
    let wrong = submission.verify().unwrap_err();
    assert!(matches!(wrong, PoolError::Sidecar(_)), "{wrong}");
}

#[test]
fn pooled_and_underpriced_submissions_are_rejected_before_verification() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raw = blob(&key, FEES, cells(0));
    let submission = decode(&chain, &raw).unwrap();
    pool.precheck(&submission, || &chain).unwrap();
    pool.add(submission.clone().verify().unwrap(), || &chain).unwrap();
    assert_eq!(pool.precheck(&submission, || &chain), Err(PoolError::AlreadyKnown));
    let (max_fee, tip, blob_fee) = FEES;
    let other = decode(&chain, &blob(&key, (max_fee + 1, tip, blob_fee), cells(0))).unwrap();
    let underpriced = pool.precheck(&other, || &chain);
    assert!(matches!(underpriced, Err(PoolError::ReplacementUnderpriced { .. })), "{underpriced:?}");
}

#[test]
fn only_blobs_and_authorizations_need_verification() {
    let (chain, key) = rich(1);
    for raw in [key.legacy(0, GWEI), key.access_list(0, GWEI), key.dynamic(0, GWEI, 1)] {
        assert!(decode(&chain, &raw).unwrap().verification_time().is_zero());
    }
    let time = decode(&chain, &list(&key, &Key::new(2))).unwrap().verification_time();
    let one = decode(&chain, &blob(&key, FEES, cells(0))).unwrap().verification_time();
    assert!(one.as_millis() >= 10 && time.as_millis() >= 30, "{one:?} {time:?}");
}

/// Encoding of a checked transaction.
#[derive(serde::Serialize)]
struct Forwarded {
    sender: Address,
    authorities: Vec<Option<Address>>,
    encoded: Bytes,
}

/// Another process of the node need not recover the authorities again.
#[test]
fn recovered_authorities_are_forwarded() {
    let (chain, key) = rich(1);
    let signer = Key::new(2);
    let checked = decode(&chain, &list(&key, &signer)).unwrap().verify().unwrap();
    let mut expected = vec![None; AUTHORIZATIONS];
    expected[0] = Some(signer.address);
    assert_eq!(checked.transaction().authorities(), expected);
    let encoded = wire::to_vec(&checked);
    let forwarded: CheckedTransaction = wire::decode(&encoded).unwrap();
    assert_eq!(forwarded.transaction().authorities(), expected);

    let short =
        Forwarded { sender: key.address, authorities: expected[1..].to_vec(), encoded: checked.encoded() };
    assert!(wire::decode::<CheckedTransaction>(&wire::to_vec(&short)).is_err(), "one authority is missing");
}
