//! Pre-confirmation receipts: availability, verification, and contradictions between two of them.

use alloy_primitives::{Address, B256, Bytes};
use foreseal_node::Settings;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use serde_json::{Value, json};

use super::{Bench, settings};
use crate::{
    context::limits::Limits,
    methods::preconfirmation::{
        evidence::{Contradiction, contradiction},
        invalid_receipt::{InvalidReceipt, InvalidReceiptError},
        receipt::PreconfirmationReceipt,
        verify::VerifiedPreconfirmation,
    },
};

fn receipt_of(bench: &Bench, hash: B256) -> Value {
    bench.call("foreseal_preconfirmation", &format!("[\"{hash}\"]"))
}

fn parsed(receipt: &Value) -> PreconfirmationReceipt {
    PreconfirmationReceipt::parse(receipt.to_string().as_bytes()).unwrap()
}

fn signer(bench: &Bench) -> Address {
    bench.api.node().status().signer.unwrap()
}

fn transfer(bench: &Bench, nonce: u64, value: u64) -> B256 {
    let wallet = bench.wallets[0].clone();
    bench.submit(&wallet.transfer(nonce, wallet.address, value, Fees::default()))
}

#[test]
fn a_receipt_refers_to_the_first_step_and_never_changes() {
    let mut bench = Bench::new(1);
    let hash = transfer(&bench, 0, 1);
    assert_eq!(receipt_of(&bench, hash), Value::Null, "only pooled");
    bench.tick();
    let first = receipt_of(&bench, hash);
    let step = bench.view().pending().block.hash;
    transfer(&bench, 1, 1);
    bench.tick();
    assert_ne!(bench.view().pending().block.hash, step);
    assert_eq!(receipt_of(&bench, hash), first, "a later step holds it too");
    bench.seal();
    assert_eq!(receipt_of(&bench, hash), first, "sealed");
    bench.seal();
    assert_eq!(receipt_of(&bench, hash), first);

    let shown = parsed(&first).verify(Some(signer(&bench)), Some(bench.api.node().spec().chain_id()));
    let expected = VerifiedPreconfirmation {
        chain_id: bench.api.node().spec().chain_id(),
        number: 1,
        index: 1,
        hash: step,
        previous: bench.view().sealed(1).unwrap().unwrap().steps[0].hash,
        time: 1_000_000_200,
        timestamp: bench.view().sealed(1).unwrap().unwrap().block.header.timestamp,
        transaction_hash: hash,
        transaction_index: 0,
        signer: signer(&bench),
    };
    assert_eq!(shown, Ok(expected));
    assert_eq!(receipt_of(&bench, B256::ZERO), Value::Null);
    assert_eq!(bench.call("foreseal_status", "[]")["signer"], json!(signer(&bench)));
}

#[test]
fn an_imported_block_has_no_pre_confirmation_receipts() {
    let mut made = Bench::new(1);
    let hash = transfer(&made, 0, 1);
    made.tick();
    made.seal();
    let mut rlp = Vec::new();
    made.view().sealed(1).unwrap().unwrap().block.encode(&mut rlp);
    let datadir = tempfile::tempdir().unwrap();
    let file = datadir.path().join("chain.rlp");
    std::fs::write(&file, rlp).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let settings = Settings { produce: false, ..settings(folder.path(), &wallets) };
    let disk = std::sync::Arc::new(foreseal_journal::RealDisk);
    foreseal_node::import_chain(&settings, disk, &file, &mut |_| true).unwrap();
    let bench = Bench::open(folder, settings, wallets, Limits::default());
    let error = bench.error("foreseal_preconfirmation", &format!("[\"{hash}\"]"));
    let message = "block 1 was imported: its transactions were not pre-confirmed";
    assert_eq!((error.code, error.message.as_str()), (-32001, message));
    assert_eq!(bench.call("foreseal_status", "[]")["signer"], Value::Null);
}

/// Creates a chain with several transactions in a step. Returns the receipts of all of them.
fn receipts() -> (Bench, Vec<PreconfirmationReceipt>) {
    let mut bench = Bench::new(4);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    let mut hashes = Vec::new();
    for round in 0..12 {
        for _ in 0..round % 5 {
            hashes.push(bench.submit(&workload.next_transaction()));
        }
        bench.tick();
    }
    let answers = hashes.iter().map(|hash| receipt_of(&bench, *hash)).filter(|answer| !answer.is_null());
    let receipts = answers.map(|answer| parsed(&answer)).collect();
    (bench, receipts)
}

/// Returns copies of the receipt with one bit changed, for each bit of each part, with the name of the part.
fn changes(receipt: &PreconfirmationReceipt) -> Vec<(InvalidReceipt, PreconfirmationReceipt)> {
    let mut changed = Vec::new();
    let mut add = |field, change: &dyn Fn(&mut PreconfirmationReceipt)| {
        let mut other = receipt.clone();
        change(&mut other);
        assert_ne!(other, *receipt);
        changed.push((field, other));
    };
    for bit in 0..64 {
        add(InvalidReceipt::ChainId, &|receipt| receipt.chain_id ^= 1 << bit);
        add(InvalidReceipt::TransactionIndex, &|receipt| receipt.transaction_index ^= 1 << bit);
        add(InvalidReceipt::BlockNumber, &|receipt| receipt.number ^= 1 << bit);
        add(InvalidReceipt::FlashblockIndex, &|receipt| receipt.index ^= 1 << bit);
        add(InvalidReceipt::Time, &|receipt| receipt.time ^= 1 << bit);
    }
    let flipped = |bytes: &[u8], bit: usize| {
        let mut bytes = bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        Bytes::from(bytes)
    };
    for bit in 0..256 {
        add(InvalidReceipt::TransactionHash, &|receipt| {
            receipt.transaction_hash.0[bit / 8] ^= 1 << (bit % 8);
        });
        add(InvalidReceipt::Hash, &|receipt| receipt.hash.0[bit / 8] ^= 1 << (bit % 8));
        add(InvalidReceipt::Previous, &|receipt| receipt.previous.0[bit / 8] ^= 1 << (bit % 8));
    }
    for bit in 0..65 * 8 {
        add(InvalidReceipt::Signature, &|receipt| receipt.signature.0[bit / 8] ^= 1 << (bit % 8));
    }
    for bit in 0..20 * 8 {
        add(InvalidReceipt::Signer, &|receipt| receipt.signer.0.0[bit / 8] ^= 1 << (bit % 8));
    }
    for bit in 0..receipt.header.len() * 8 {
        add(InvalidReceipt::Header, &|receipt| receipt.header = flipped(&receipt.header, bit));
    }
    for bit in 0..receipt.transaction.len() * 8 {
        add(InvalidReceipt::Transaction, &|receipt| receipt.transaction = flipped(&receipt.transaction, bit));
    }
    for node in 0..receipt.proof.len() {
        for bit in 0..receipt.proof[node].len() * 8 {
            add(InvalidReceipt::Proof, &|receipt| receipt.proof[node] = flipped(&receipt.proof[node], bit));
        }
    }
    changed
}

#[test]
fn a_receipt_with_one_changed_bit_is_rejected() {
    let (bench, receipts) = receipts();
    assert!(receipts.len() > 10);
    let mut tried = 0;
    for receipt in &receipts {
        receipt.verify(Some(signer(&bench)), None).unwrap();
    }
    let longest = receipts.iter().max_by_key(|receipt| receipt.proof.len()).unwrap();
    assert!(longest.proof.len() > 1);
    for receipt in [&receipts[0], longest] {
        for (field, changed) in changes(receipt) {
            assert!(changed.verify(None, None).is_err(), "{}", field.name());
            tried += 1;
        }
    }
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn an_inconsistent_field_is_named() {
    let (_, receipts) = receipts();
    let (one, other) = (&receipts[0], receipts.last().unwrap());
    let rejection = |change: &dyn Fn(&mut PreconfirmationReceipt)| {
        let mut receipt = one.clone();
        change(&mut receipt);
        let InvalidReceiptError { field, why } = receipt.verify(None, None).unwrap_err();
        format!("{}: {why}", field.name())
    };
    let cases = [
        (rejection(&|r| r.number += 1), "blockNumber: the header is of block 1"),
        (rejection(&|r| r.proof.push(Bytes::new())), "proof: 1 nodes follow the one that decides the key"),
        (rejection(&|r| r.proof.clear()), "proof: it ends before the key is decided"),
        (rejection(&|r| r.transaction_index = 99), "proof: the proof has no transaction at this index"),
        (
            rejection(&|r| r.signature = alloy_primitives::FixedBytes::ZERO),
            "signature: it is not a valid signature",
        ),
    ];
    for (got, wanted) in cases {
        assert_eq!(got, wanted);
    }
    let mixed = PreconfirmationReceipt {
        transaction: other.transaction.clone(),
        transaction_hash: other.transaction_hash,
        ..one.clone()
    };
    assert_eq!(mixed.verify(None, None).unwrap_err().field, InvalidReceipt::Proof);
    let error = one.verify(Some(Address::ZERO), None).unwrap_err();
    assert_eq!(error.field, InvalidReceipt::Signer);
    assert_eq!(one.verify(None, Some(1)).unwrap_err().field, InvalidReceipt::ChainId);
}

/// The second valid signature of the same key would make a second receipt of one commitment.
#[test]
fn a_signature_with_a_high_s_is_rejected() {
    let (_, receipts) = receipts();
    let mut receipt = receipts[0].clone();
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let order = alloy_primitives::U256::from_str_radix(order, 16).unwrap();
    let s = order - alloy_primitives::U256::from_be_slice(&receipt.signature[32..64]);
    receipt.signature.0[32..64].copy_from_slice(&s.to_be_bytes::<32>());
    receipt.signature.0[64] = 27 + 28 - receipt.signature.0[64];
    let error = receipt.verify(None, None).unwrap_err();
    assert_eq!((error.field, error.why.as_str()), (InvalidReceipt::Signature, "it is not a valid signature"));
}

#[test]
fn invalid_receipt_json_is_rejected_naming_the_field() {
    let (bench, _) = receipts();
    let hash = bench.view().pending().block.transactions[0].hash();
    let complete = receipt_of(&bench, hash);
    let rejection = |name: &str, value: Value| {
        let mut receipt = complete.clone();
        receipt[name] = value;
        PreconfirmationReceipt::parse(receipt.to_string().as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(rejection("time", json!("0x01")), "time: hex number has leading zeros");
    assert_eq!(rejection("hash", json!("0x01")), "hash: expected 32 bytes, got 1");
    assert_eq!(rejection("proof", json!(["01"])), "proof: hex string without 0x prefix");
    assert!(rejection("signature", Value::Null).starts_with("receipt: invalid type: null"));
    for text in ["", "null", "[]", "{}", "\"0x\"", "{\"chainId\":\"0x1\"}"] {
        let error = PreconfirmationReceipt::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.field, InvalidReceipt::Receipt, "{text}");
    }
    let mut more = complete.clone();
    more["note"] = json!({"of": "mine"});
    assert_eq!(parsed(&more), parsed(&complete), "what is beside it does not matter");
}

fn evidence(one: &Value, other: &Value) -> Option<Contradiction> {
    let forward = contradiction(&parsed(one), &parsed(other)).unwrap();
    let back = contradiction(&parsed(other), &parsed(one)).unwrap();
    assert_eq!(forward.map(|evidence| evidence.contradiction), back.map(|evidence| evidence.contradiction));
    forward.map(|evidence| evidence.contradiction)
}

/// A sequencer that rewinds and builds a different step at the same position has signed twice.
#[test]
fn a_reorged_preconfirmation_leaves_evidence() {
    let mut bench = Bench::developing(2);
    let base = bench.api.node().develop(|development| development.snapshot()).unwrap();
    let preconfirm = |bench: &mut Bench, values: &[u64]| -> Vec<Value> {
        let hashes: Vec<B256> = (0..)
            .zip(values)
            .map(|(nonce, value)| {
                let hash = transfer(bench, nonce, *value);
                bench.tick();
                hash
            })
            .collect();
        hashes.into_iter().map(|hash| receipt_of(bench, hash)).collect()
    };
    let originals = preconfirm(&mut bench, &[1, 2, 3]);
    assert_eq!(evidence(&originals[0], &originals[1]), None);
    assert_eq!(evidence(&originals[0], &originals[2]), None);
    assert_eq!(evidence(&originals[1], &originals[1]), None);
    assert!(bench.api.node().develop(|development| development.revert(base)).unwrap());
    let other = preconfirm(&mut bench, &[7, 2, 9]);
    assert_eq!(evidence(&originals[0], &other[0]), Some(Contradiction::TwoSteps));
    assert_eq!(
        evidence(&originals[0], &other[1]),
        Some(Contradiction::BrokenOrder),
        "it follows another step"
    );
    assert_eq!(evidence(&originals[2], &other[2]), Some(Contradiction::TwoSteps));
    assert_eq!(evidence(&originals[0], &other[2]), None, "neither shows where it came from");

    let stranger = Bench::new(1);
    drop(stranger);
    let mut foreign = parsed(&originals[0]);
    foreign.chain_id += 1;
    let (which, error) = contradiction(&parsed(&originals[0]), &foreign).unwrap_err();
    assert_eq!((which, error.field), (1, InvalidReceipt::Transaction));
}

/// After a rewind the transaction is included at another position, and another transaction at its original
/// one.
#[test]
fn conflicting_transaction_positions_are_evidence() {
    let mut bench = Bench::developing(2);
    let base = bench.api.node().develop(|development| development.snapshot()).unwrap();
    let first = transfer(&bench, 0, 1);
    bench.tick();
    let before = receipt_of(&bench, first);
    assert!(bench.api.node().develop(|development| development.revert(base)).unwrap());
    bench.seal();
    let again = transfer(&bench, 0, 1);
    bench.tick();
    assert_eq!(again, first);
    assert_eq!(evidence(&before, &receipt_of(&bench, first)), Some(Contradiction::TwoPlaces));

    let mut bench = Bench::developing(2);
    let base = bench.api.node().develop(|development| development.snapshot()).unwrap();
    let first = transfer(&bench, 0, 1);
    bench.tick();
    let before = receipt_of(&bench, first);
    assert!(bench.api.node().develop(|development| development.revert(base)).unwrap());
    let third = bench.wallets[1].clone();
    // Two steps without transactions come first, so that no index and no predecessor contradict.
    for wei in [5, 6] {
        let change = foreseal_primitives::Change::Balance(alloy_primitives::U256::from(wei));
        let change = foreseal_primitives::Override { address: Address::repeat_byte(9), change };
        bench.api.node().develop(|development| development.write(&change)).unwrap();
    }
    let other = bench.submit(&third.transfer(0, third.address, 1, Fees::default()));
    bench.tick();
    assert_eq!(evidence(&before, &receipt_of(&bench, other)), Some(Contradiction::TwoTransactions));
}
