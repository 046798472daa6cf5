//! Saving and restoring the pool.

use alloy_consensus::TxEip7702;
use alloy_eips::eip7702::Authorization;
use alloy_primitives::{Address, B256, Signature, U256};
use foreseal_pool::{DropReason, Pool, RestoreError, Status};

use crate::chain::{Chain, GWEI, Key, nonces, pool, rich};

fn filled() -> (Chain, Key, Pool) {
    let (mut chain, key) = rich(1);
    let other = Key::new(2);
    chain.fund(&other, GWEI * GWEI);
    let pool = pool();
    for nonce in [1, 0, 5] {
        chain.submit(&pool, &key.legacy(nonce, GWEI)).unwrap();
    }
    chain.submit(&pool, &other.legacy(0, GWEI)).unwrap();
    (chain, key, pool)
}

fn restore(chain: &Chain, saved: &[u8]) -> (Pool, Result<foreseal_pool::Restored, RestoreError>) {
    let pool = pool();
    let rules = pool.rules(&chain.spec, &chain.header);
    let restored = pool.restore(saved, &rules, || chain);
    (pool, restored)
}

#[test]
fn a_saved_pool_is_restored_unchanged() {
    let (chain, _, old) = filled();
    let (new, restored) = restore(&chain, &old.save());
    let restored = restored.unwrap();
    assert_eq!((restored.added, restored.dropped.len()), (4, 0));
    assert_eq!(new.counts(), old.counts());
    let order = |pool: &Pool| pool.best(0, 0).map(|t| t.hash()).collect::<Vec<_>>();
    assert_eq!(order(&new), order(&old));
    assert_eq!(new.save(), old.save());
    let (_, empty) = restore(&chain, &pool().save());
    assert_eq!(empty.unwrap().added, 0);
}

#[test]
fn a_restored_transaction_no_longer_admitted_has_a_reason() {
    let (mut chain, key, old) = filled();
    let hashes: Vec<_> = old.all().iter().map(|t| t.hash()).collect();
    chain.set_nonce(&key, 1);
    chain.preconfirmed.insert(hashes[0]);
    let (new, restored) = restore(&chain, &old.save());
    let restored = restored.unwrap();
    assert_eq!(restored.added, 2);
    // Nonce 1 is in a step already; nonce 0 was used by another transaction.
    let reason = DropReason::NonceTooLow;
    assert_eq!((restored.dropped.len(), &restored.dropped[0].reason), (1, &reason));
    assert_eq!(new.status(&hashes[1]), Status::Dropped(reason));
    assert_eq!(nonces(&new.sender_content(&key.address).queued), [5]);
}

#[test]
fn a_restored_transaction_waiting_for_funds_still_waits() {
    let (mut chain, key, old) = filled();
    chain.fund(&key, 0);
    chain.step(&old, &[]);
    let (new, restored) = restore(&chain, &old.save());
    assert_eq!(restored.unwrap().added, 4);
    assert_eq!(new.counts(), old.counts());
    chain.fund(&key, GWEI * GWEI);
    chain.step(&new, &[]);
    assert_eq!(nonces(&new.sender_content(&key.address).pooled), [0, 1]);
}

#[test]
fn restoring_into_a_used_pool_merges_both() {
    let (chain, key, old) = filled();
    let rules = old.rules(&chain.spec, &chain.header);
    chain.submit(&old, &key.legacy(2, GWEI)).unwrap();
    let saved = filled().2.save();
    assert_eq!(old.restore(&saved, &rules, || &chain).unwrap().added, 0);
    assert_eq!(old.counts().pooled, 4);
}

#[test]
fn invalid_files_have_distinct_errors() {
    let (chain, _, old) = filled();
    let saved = old.save();
    let error = |bytes: &[u8]| restore(&chain, bytes).1.unwrap_err();
    assert_eq!(error(b""), RestoreError::NotAPool);
    assert_eq!(error(b"fsl-pool"), RestoreError::NotAPool);
    assert_eq!(error(b"{\"json\": true}"), RestoreError::NotAPool);
    let mut newer = saved.clone();
    newer[8] = 3;
    assert_eq!(error(&newer), RestoreError::Version { have: 3 });
    for length in 9..saved.len() {
        assert_eq!(error(&saved[..length]), RestoreError::Checksum, "cut at {length}");
    }
    for at in 9..saved.len() {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x40;
        assert_eq!(error(&damaged), RestoreError::Checksum, "bit at {at}");
    }
}

#[test]
fn wrong_lengths_under_a_valid_checksum_are_rejected() {
    let (chain, _, _) = filled();
    let with = |body: &[u8]| {
        let mut bytes = [b"fsl-pool\x02", body].concat();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        restore(&chain, &bytes).1
    };
    assert_eq!(with(&[]), Err(RestoreError::Length { entry: 0 }));
    assert_eq!(with(&[1, 0, 0, 0]), Err(RestoreError::Length { entry: 0 }));
    assert_eq!(with(&[1, 0, 0, 0, 9, 0, 0, 0, 1]), Err(RestoreError::Length { entry: 0 }));
    assert_eq!(with(&[0xff; 4]), Err(RestoreError::Length { entry: 0 }));
    assert_eq!(with(&[0, 0, 0, 0, 1]), Err(RestoreError::Length { entry: 0 }));
    // An intact file with an entry that is not a transaction: only that entry is dropped.
    let (one, sender) = ([1, 0, 0, 0], [7; 20]);
    let entry = |authorities: u8, rest: &[u8]| {
        let content = [&sender[..], &[authorities, 0, 0, 0], rest].concat();
        with(&[&one[..], &[u8::try_from(content.len()).unwrap(), 0, 0, 0], &content].concat())
    };
    let restored = entry(0, &[0xc0]).unwrap();
    assert_eq!((restored.added, restored.dropped.len()), (0, 1));
    // Fewer authorities than their number.
    assert_eq!(entry(2, &[7; 39]), Err(RestoreError::Length { entry: 0 }));
}

/// A stranger's list of authorizations takes long to verify, and a start must not wait for it.
#[test]
fn signers_are_restored_without_verification() {
    let (chain, key, old) = filled();
    let authorized = |signature: Signature| {
        let authorization = Authorization {
            chain_id: U256::from(chain.spec.chain_id()),
            address: Address::repeat_byte(7),
            nonce: 0,
        };
        authorization.into_signed(signature)
    };
    let signed = authorized(Key::new(3).sign(B256::repeat_byte(1)));
    let invalid = authorized(Signature::new(U256::ZERO, U256::ZERO, false));
    let raw = key.raw(TxEip7702 {
        chain_id: chain.spec.chain_id(),
        nonce: 2,
        gas_limit: 200_000,
        max_fee_per_gas: GWEI,
        to: key.address,
        authorization_list: vec![signed, invalid],
        ..TxEip7702::default()
    });
    let hash = chain.submit(&old, &raw).unwrap().hash;
    let authorities = |pool: &Pool| pool.get(&hash).unwrap().transaction().authorities().to_vec();
    let (new, restored) = restore(&chain, &old.save());
    assert_eq!(restored.unwrap().added, 5);
    assert_eq!(authorities(&new), authorities(&old));
    assert!(matches!(authorities(&new)[..], [Some(_), None]));
    // The file is trusted: another signer in it is not noticed.
    let mut saved = old.save();
    let signer = authorities(&old)[0].unwrap();
    let at = saved.windows(20).position(|bytes| bytes == signer.as_slice()).unwrap();
    saved[at..at + 20].fill(9);
    let end = saved.len() - 4;
    let checksum = crc32c::crc32c(&saved[..end]).to_le_bytes();
    saved[end..].copy_from_slice(&checksum);
    let (other, _) = restore(&chain, &saved);
    assert_eq!(authorities(&other)[0], Some(Address::repeat_byte(9)));
}

/// Unsigned transactions enter only through their own function, but a saved pool may contain them: it is the
/// node's own.
#[test]
fn impersonated_transactions_are_saved_but_never_submitted() {
    use alloy_consensus::TxLegacy;
    use foreseal_pool::{PoolError, decode_submission, impersonated_submission};
    let (chain, key, old) = filled();
    let unsigned = TxLegacy {
        chain_id: Some(chain.spec.chain_id()),
        nonce: 2,
        gas_price: GWEI,
        gas_limit: 21_000,
        to: key.address.into(),
        ..TxLegacy::default()
    };
    let made = foreseal_primitives::Transaction::impersonated(unsigned.into(), key.address);
    let (hash, bytes) = (made.hash(), made.encoded().clone());
    let rules = old.rules(&chain.spec, &chain.header);
    assert_eq!(decode_submission(&bytes, &rules).unwrap_err(), PoolError::Signature);
    let submission = impersonated_submission(made, &rules).unwrap();
    assert!(old.add(submission, || &chain).unwrap().executable);
    let (new, restored) = restore(&chain, &old.save());
    assert_eq!(restored.unwrap().added, 5);
    let back = new.get(&hash).unwrap();
    assert!(back.transaction().is_impersonated());
    assert_eq!(back.sender(), key.address);
}
