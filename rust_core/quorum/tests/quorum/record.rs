//! Records: encoding round-trips, and any other input is a specific error.

use std::sync::Arc;

use alloy_consensus::{Header, TxLegacy};
use alloy_primitives::{Address, B256, Bytes, FixedBytes, TxKind, U256};
use foreseal_journal::{RawAppend, Record};
use foreseal_primitives::{Change, Flashblock, Override, Transaction, Unsigned};
use foreseal_quorum::{QuorumEntry, QuorumRecord, QuorumRecordError, RecordLink, StepOutline, chain_hash};
use proptest::prelude::*;

fn transaction() -> impl Strategy<Value = Arc<Transaction>> {
    let input = prop::collection::vec(any::<u8>(), 0..60);
    (any::<u64>(), any::<[u8; 20]>(), any::<u64>(), input).prop_map(|(nonce, to, value, input)| {
        let unsigned = TxLegacy {
            chain_id: Some(7),
            nonce,
            gas_price: 1,
            gas_limit: 21_000,
            to: TxKind::Call(Address::from(to)),
            value: U256::from(value),
            input: input.into(),
        };
        let sender = Address::repeat_byte(to[0]);
        Arc::new(Transaction::impersonated(Unsigned::Legacy(unsigned), sender))
    })
}

fn header() -> impl Strategy<Value = Header> {
    (any::<u64>(), any::<[u8; 32]>(), prop::collection::vec(any::<u8>(), 0..32)).prop_map(
        |(number, root, extra)| Header {
            number,
            state_root: root.into(),
            extra_data: extra.into(),
            base_fee_per_gas: Some(7),
            ..Header::default()
        },
    )
}

fn step() -> impl Strategy<Value = Arc<Flashblock>> {
    let signature = prop::option::of(any::<u8>());
    let transactions = prop::collection::vec(transaction(), 0..5);
    (header(), any::<u64>(), any::<[u8; 32]>(), any::<u64>(), signature, transactions).prop_map(
        |(header, index, previous, time, signature, transactions)| {
            Arc::new(Flashblock {
                number: header.number,
                index,
                previous: previous.into(),
                hash: header.hash_slow(),
                header,
                time,
                signature: signature.map(FixedBytes::repeat_byte),
                receipts: Vec::new(),
                transactions,
                diff: Arc::default(),
                end_of_block_diff: Arc::default(),
            })
        },
    )
}

fn change() -> impl Strategy<Value = Override> {
    let change = prop_oneof![
        any::<u64>().prop_map(|wei| Change::Balance(U256::from(wei))),
        any::<u64>().prop_map(Change::Nonce),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|code| Change::Code(code.into())),
        (any::<u64>(), any::<u64>())
            .prop_map(|(slot, value)| Change::Slot { slot: U256::from(slot), value: U256::from(value) }),
    ];
    (any::<[u8; 20]>(), change).prop_map(|(address, change)| Override { address: address.into(), change })
}

fn record() -> impl Strategy<Value = Record> {
    let block = prop::collection::vec(any::<u8>(), 0..100);
    prop_oneof![
        header().prop_map(|header| Record::Open { header: Box::new(header) }),
        step().prop_map(Record::Step),
        (change(), step()).prop_map(|(change, step)| Record::Override { change, step }),
        (any::<u64>(), any::<[u8; 32]>())
            .prop_map(|(number, hash)| Record::Seal { number, hash: hash.into() }),
        block.prop_map(|block| Record::Import { block: Bytes::from(block) }),
        any::<i64>().prop_map(|offset| Record::Clock { offset }),
        (any::<u64>(), any::<[u8; 32]>())
            .prop_map(|(number, hash)| Record::Unwind { number, hash: hash.into() }),
        (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(safe, finalized, trails)| Record::Finality {
            safe,
            finalized,
            trails
        }),
    ]
}

fn outline(step: &Flashblock) -> Box<StepOutline> {
    Box::new(StepOutline {
        number: step.number,
        index: step.index,
        previous: step.previous,
        header: step.header.clone(),
        hash: step.hash,
        time: step.time,
        signature: step.signature,
        transactions: step.transactions.clone(),
    })
}

fn entry(record: &Record) -> QuorumEntry {
    match record.clone() {
        Record::Open { header } => QuorumEntry::Open { header },
        Record::Step(step) => QuorumEntry::Step(outline(&step)),
        Record::Override { change, step } => QuorumEntry::Override { change, step: outline(&step) },
        Record::Seal { number, hash } => QuorumEntry::Seal { number, hash },
        Record::Import { block } => QuorumEntry::Import { block },
        Record::Clock { offset } => QuorumEntry::Clock { offset },
        Record::Unwind { number, hash } => QuorumEntry::Unwind { number, hash },
        Record::Finality { safe, finalized, trails } => QuorumEntry::Finality { safe, finalized, trails },
    }
}

fn link() -> RecordLink {
    RecordLink { sequence: 9, previous: B256::repeat_byte(1), hash: B256::repeat_byte(2) }
}

proptest! {
    #[test]
    fn records_round_trip_without_results(records in prop::collection::vec(record(), 0..8)) {
        let decoded = QuorumRecord::decode(&QuorumRecord::encode(&link(), &records)).unwrap();
        let entries: Vec<QuorumEntry> = records.iter().map(entry).collect();
        prop_assert_eq!(decoded, QuorumRecord { link: link(), entries });
    }

    #[test]
    fn any_bytes_never_panic_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = QuorumRecord::decode(&bytes);
    }

    #[test]
    fn modified_record_never_panics_the_decoder(
        records in prop::collection::vec(record(), 1..4), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = QuorumRecord::encode(&link(), &records);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = QuorumRecord::decode(&bytes);
    }

    #[test]
    fn truncated_record_is_rejected(
        records in prop::collection::vec(record(), 0..4), at in any::<prop::sample::Index>(),
    ) {
        let bytes = QuorumRecord::encode(&link(), &records);
        prop_assert!(QuorumRecord::decode(&bytes[..at.index(bytes.len())]).is_err());
    }
}

#[test]
fn stated_lengths_and_counts_are_checked() {
    let bytes = QuorumRecord::encode(&link(), &[Record::Clock { offset: 5 }]);
    let decode = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        QuorumRecord::decode(&bytes).unwrap_err()
    };
    assert_eq!(decode(0, 9), QuorumRecordError::Version { version: 9 });
    assert!(matches!(decode(1, 0xff), QuorumRecordError::Length { .. }));
    assert!(matches!(decode(77, 0xff), QuorumRecordError::Entry { index: 1, .. }));
    assert_eq!(decode(80, 0), QuorumRecordError::TrailingBytes { sequence: 9 });
    assert!(matches!(decode(81, 9), QuorumRecordError::Entry { index: 0, .. }));
    assert!(matches!(decode(82, 0xff), QuorumRecordError::Entry { index: 0, .. }));
}

#[test]
fn hashes_depend_on_every_input() {
    let hashes = [
        RawAppend::content_hash(1, 2, b"records"),
        RawAppend::content_hash(2, 2, b"records"),
        RawAppend::content_hash(1, 3, b"records"),
        RawAppend::content_hash(1, 2, b"record"),
        chain_hash(B256::ZERO, RawAppend::content_hash(1, 2, b"records")),
        chain_hash(B256::repeat_byte(1), RawAppend::content_hash(1, 2, b"records")),
    ];
    for (index, hash) in hashes.iter().enumerate() {
        assert!(!hashes[..index].contains(hash), "{index}");
    }
}
