//! Blob transactions with real commitments and proofs.

use std::sync::LazyLock;

use alloy_consensus::{EthereumTxEnvelope, SignableTransaction, TxEip4844, TxEip4844WithSidecar};
use alloy_eips::{
    eip2718::Encodable2718,
    eip4844::{
        BlobTransactionSidecar,
        builder::{SidecarBuilder, SimpleCoder},
        c_kzg::ethereum_kzg_settings,
    },
    eip7594::{BlobTransactionSidecarEip7594, BlobTransactionSidecarVariant as Sidecar},
};
use alloy_primitives::{Address, U256};
use foreseal_pool::{PoolError, QueuedReason, Status};
use foreseal_primitives::{ChainSpec, DEV_CHAIN_ID};

use crate::chain::{Chain, GWEI, Key, pool, rich};

/// Two sidecars of one blob each, in both versions. Computing the proofs is slow, so it happens once.
pub static SIDECARS: LazyLock<[(BlobTransactionSidecar, BlobTransactionSidecarEip7594); 2]> =
    LazyLock::new(|| {
        [b"one".as_slice(), b"another"].map(|data| {
            let settings = ethereum_kzg_settings(0);
            let builder = SidecarBuilder::<SimpleCoder>::from_slice(data);
            let old = builder.clone().build_4844_with_settings(settings).unwrap();
            (old, builder.build_7594_with_settings(settings).unwrap())
        })
    });

pub fn cells(which: usize) -> Sidecar {
    Sidecar::Eip7594(SIDECARS[which].1.clone())
}

/// Returns a blob transaction in the pooled form, with the hashes of the sidecar.
pub fn blob(key: &Key, fees: (u128, u128, u128), sidecar: Sidecar) -> Vec<u8> {
    let hashes = sidecar.versioned_hashes().collect();
    blob_with(key, fees, sidecar, hashes)
}

fn blob_with(
    key: &Key,
    (max_fee, tip, blob_fee): (u128, u128, u128),
    sidecar: Sidecar,
    blob_versioned_hashes: Vec<alloy_primitives::B256>,
) -> Vec<u8> {
    let transaction = TxEip4844 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 21_000,
        max_fee_per_gas: max_fee,
        max_priority_fee_per_gas: tip,
        max_fee_per_blob_gas: blob_fee,
        to: Address::ZERO,
        blob_versioned_hashes,
        ..TxEip4844::default()
    };
    let signature = key.sign(transaction.signature_hash());
    let pooled = TxEip4844WithSidecar { tx: transaction, sidecar };
    EthereumTxEnvelope::<TxEip4844WithSidecar>::from(pooled.into_signed(signature)).encoded_2718()
}

fn rejection(raw: &[u8]) -> PoolError {
    rich(1).0.submit(&pool(), raw).unwrap_err()
}

pub const FEES: (u128, u128, u128) = (2 * GWEI, GWEI, GWEI);

#[test]
fn a_blob_transaction_is_accepted_and_stored_with_its_sidecar() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raw = blob(&key, FEES, cells(0));
    let hash = chain.submit(&pool, &raw).unwrap().hash;
    let pooled = pool.get(&hash).unwrap();
    assert!(pooled.sidecar().is_some() && pooled.has_blobs());
    assert_eq!(pooled.encoded(), raw);
    assert_eq!(pooled.size(), raw.len());
    // The block form has the hash and no sidecar.
    assert!(pooled.transaction().encoded().len() < 300);
    assert_eq!(*pooled.transaction().envelope().tx_hash(), hash);
    assert_eq!(chain.submit(&pool, &raw), Err(PoolError::AlreadyKnown));

    let restored = crate::chain::pool();
    let rules = restored.rules(&chain.spec, &chain.header);
    assert_eq!(restored.restore(&pool.save(), &rules, || &chain).unwrap().added, 1);
    assert_eq!(restored.get(&hash).unwrap().encoded(), raw);
}

#[test]
fn proofs_of_another_blob_are_rejected() {
    let key = Key::new(1);
    let mut sidecar = SIDECARS[0].1.clone();
    sidecar.cell_proofs.swap(0, 1);
    let error = rejection(&blob(&key, FEES, Sidecar::Eip7594(sidecar.clone())));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
    sidecar.cell_proofs.swap(0, 1);
    sidecar.blobs.clone_from(&SIDECARS[1].1.blobs);
    let error = rejection(&blob(&key, FEES, Sidecar::Eip7594(sidecar.clone())));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
    sidecar.cell_proofs.pop();
    let error = rejection(&blob(&key, FEES, Sidecar::Eip7594(sidecar)));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
}

#[test]
fn hashes_of_another_sidecar_are_rejected() {
    let key = Key::new(1);
    let hashes = cells(1).versioned_hashes().collect();
    let error = rejection(&blob_with(&key, FEES, cells(0), hashes));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
}

#[test]
fn a_wrong_number_of_blobs_is_rejected() {
    let key = Key::new(1);
    assert_eq!(rejection(&blob_with(&key, FEES, cells(0), Vec::new())), PoolError::NoBlobs);
    let hash = cells(0).versioned_hashes().next().unwrap();
    let error = rejection(&blob_with(&key, FEES, cells(0), vec![hash; 7]));
    assert_eq!(error, PoolError::TooManyBlobs { have: 7, limit: 6 });
    let error = rejection(&blob_with(&key, FEES, cells(0), vec![hash; 2]));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
}

#[test]
fn a_blob_transaction_without_sidecar_is_rejected() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raw = blob(&key, FEES, cells(0));
    let submission = chain.decode(&pool, &raw).unwrap();
    assert_eq!(rejection(submission.transaction().encoded()), PoolError::MissingSidecar);
}

#[test]
fn a_sidecar_of_version_0_gets_its_cell_proofs() {
    let (chain, key) = rich(1);
    let pool = pool();
    let old = blob(&key, FEES, Sidecar::Eip4844(SIDECARS[0].0.clone()));
    let new = blob(&key, FEES, cells(0));
    let rules = pool.rules(&chain.spec, &chain.header);
    let decode = |raw: &[u8]| foreseal_pool::decode_unverified(raw, &rules).unwrap();
    assert!(decode(&old).verification_time() > decode(&new).verification_time());
    let hash = chain.submit(&pool, &old).unwrap().hash;
    let pooled = pool.get(&hash).unwrap();
    assert_eq!((pooled.encoded().as_ref(), pooled.size()), (new.as_slice(), new.len()));
    // It is verified before anything is computed from it.
    let mut wrong = SIDECARS[0].0.clone();
    wrong.proofs.clone_from(&SIDECARS[1].0.proofs);
    let error = rejection(&blob(&key, FEES, Sidecar::Eip4844(wrong)));
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
}

#[test]
fn the_sidecar_version_follows_the_fork() {
    let (chain, key) = rich(1);
    let old = blob(&key, FEES, Sidecar::Eip4844(SIDECARS[0].0.clone()));
    let mut genesis = chain.spec.genesis().clone();
    genesis.config.osaka_time = None;
    let prague = Chain { accounts: chain.accounts, ..Chain::from_spec(ChainSpec::new(genesis).unwrap()) };
    prague.submit(&pool(), &old).unwrap();
    let new = blob(&key, FEES, cells(0));
    assert_eq!(prague.submit(&pool(), &new), Err(PoolError::SidecarVersion { want: 0 }));
    let mut wrong = SIDECARS[0].0.clone();
    wrong.proofs.clone_from(&SIDECARS[1].0.proofs);
    let error = prague.submit(&pool(), &blob(&key, FEES, Sidecar::Eip4844(wrong))).unwrap_err();
    assert!(matches!(error, PoolError::Sidecar(_)), "{error}");
}

#[test]
fn blob_gas_is_part_of_the_cost() {
    let (mut chain, key) = rich(1);
    let raw = blob(&key, FEES, cells(0));
    let cost = 21_000 * 2 * GWEI + 131_072 * GWEI;
    chain.fund(&key, cost - 1);
    assert_eq!(
        chain.submit(&pool(), &raw),
        Err(PoolError::InsufficientFunds { balance: U256::from(cost - 1), cost: U256::from(cost) })
    );
    chain.fund(&key, cost);
    chain.submit(&pool(), &raw).unwrap();
}

#[test]
fn a_transaction_with_a_low_blob_fee_waits() {
    let (chain, key) = rich(1);
    let pool = pool();
    let hash = chain.submit(&pool, &blob(&key, FEES, cells(0))).unwrap().hash;
    pool.on_fees(1, GWEI + 1);
    let waiting = QueuedReason::BlobBaseFee { max_fee: GWEI, blob_base_fee: GWEI + 1 };
    assert_eq!(pool.status(&hash), Status::Queued(waiting));
    assert_eq!(pool.best(1, GWEI + 1).count(), 0);
    assert_eq!(pool.best(1, GWEI).count(), 1);
}

#[test]
fn a_replacement_needs_a_tenth_more_on_all_fees() {
    let (chain, key) = rich(1);
    let submit = |fees| {
        let pool = pool();
        chain.submit(&pool, &blob(&key, (20 * GWEI, 10 * GWEI, 10 * GWEI), cells(0))).unwrap();
        chain.submit(&pool, &blob(&key, fees, cells(1))).map(|added| added.replaced.is_some())
    };
    assert_eq!(submit((22 * GWEI, 11 * GWEI, 11 * GWEI)), Ok(true));
    for low in [
        (22 * GWEI - 1, 11 * GWEI, 11 * GWEI),
        (22 * GWEI, 11 * GWEI - 1, 11 * GWEI),
        (22 * GWEI, 11 * GWEI, 11 * GWEI - 1),
    ] {
        let error = submit(low).unwrap_err();
        assert_eq!(error.message(), "replacement transaction underpriced");
        assert!(error.data().contains(&("wantMaxFeePerBlobGas", U256::from(11 * GWEI))));
    }
    // Without blobs there is no blob fee, so it cannot be a tenth higher.
    let pool = pool();
    chain.submit(&pool, &blob(&key, FEES, cells(0))).unwrap();
    let plain = chain.submit(&pool, &key.legacy(0, 100 * GWEI)).unwrap_err();
    assert!(matches!(plain, PoolError::ReplacementUnderpriced { .. }));
}
