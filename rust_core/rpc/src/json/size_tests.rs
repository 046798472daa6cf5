//! Bounds of sizes against the output of the renderers, on random and extreme values.

use alloy_consensus::{
    Eip658Value, Header, SignableTransaction as _, TxEip1559, TxEip4844, TxEip7702, TxLegacy,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bloom, Log, Signature, TxKind, U256};
use foreseal_chain::BlockCounts;
use foreseal_primitives::{Envelope, FoundLog, Receipt, Transaction, log_json_size, receipt_json_size};
use proptest::prelude::*;

use super::answer_size::{
    MIN_LOG, MIN_RECEIPT, MIN_TRANSACTION, SizeBounds, min_log_size, min_receipts_size,
};
use super::{
    log::write_log,
    receipt::{BlockOfReceipt, write_receipt},
    transaction::{Inclusion, write_transaction},
};

/// Gas that one transaction may use (EIP-7825), and its costs: intrinsic, of a log, of a topic, of a byte.
const MAX_GAS: usize = 1 << 24;
const INTRINSIC: usize = 21_000;
const LOG: usize = 375;
const BYTE: usize = 8;
/// Default limit of a response for public callers.
const PUBLIC_RESPONSE: usize = 20 << 20;

/// Value in which each byte may be zero or full, so that quantities have all lengths.
fn word() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

fn log() -> impl Strategy<Value = Log> {
    (
        any::<[u8; 20]>(),
        prop::collection::vec(any::<[u8; 32]>(), 0..=4),
        prop::collection::vec(any::<u8>(), 0..400),
    )
        .prop_map(|(address, topics, data)| {
            let topics = topics.into_iter().map(B256::from).collect();
            Log::new_unchecked(Address::from(address), topics, data.into())
        })
}

fn rendered_log(log: &Log, numbers: [u64; 4]) -> usize {
    let [block_number, timestamp, transaction_index, index] = numbers;
    let (block_hash, hash) = (B256::ZERO, B256::ZERO);
    let entry = FoundLog {
        log,
        block_number,
        block_hash,
        timestamp,
        transaction_hash: hash,
        transaction_index,
        index,
    };
    let mut out = Vec::new();
    write_log(&mut out, &entry, false);
    out.len()
}

fn receipt(logs: Vec<Log>) -> Receipt {
    Receipt {
        kind: 2,
        status: Eip658Value::Eip658(true),
        cumulative_gas_used: 0,
        logs,
        bloom: Bloom::ZERO,
        gas_used: 0,
        contract_address: None,
        first_log_index: 0,
        deposit_nonce: None,
    }
}

/// Renders the receipt of a transaction of this kind in a block whose numbers are all `number`.
fn rendered_receipt(receipt: &Receipt, kind: u8, number: u64) -> usize {
    let transaction = transaction(full(kind, vec![], vec![], number));
    let header = Header { number, timestamp: number, base_fee_per_gas: Some(number), ..Header::default() };
    let hash = B256::ZERO;
    let block =
        BlockOfReceipt { header: &header, hash: &hash, blob_base_fee: Some(u128::MAX), l1_fees: None };
    let mut out = Vec::new();
    write_receipt(&mut out, &block, number, &transaction, receipt);
    out.len()
}

/// Asserts that `bound` is not below `size`, and not far above it.
fn assert_bound(bound: usize, size: usize, margin: usize) {
    assert!(size <= bound, "{size} bytes exceed the bound {bound}");
    assert!(2 * bound <= 3 * size + 2 * margin, "the bound {bound} is far above {size} bytes");
}

fn transaction(envelope: Envelope) -> Transaction {
    Transaction::new(envelope, Address::repeat_byte(0xff))
}

/// Returns a transaction of the largest type that has this access list and input.
fn full(kind: u8, items: Vec<usize>, input: Vec<u8>, number: u64) -> Envelope {
    let item = |keys: usize| AccessListItem {
        address: Address::repeat_byte(0xee),
        storage_keys: vec![B256::repeat_byte(0xdd); keys],
    };
    let access_list = AccessList(items.into_iter().map(item).collect());
    let (signature, fee) = (Signature::new(U256::MAX >> 1, U256::MAX >> 1, true), u128::MAX >> 1);
    let (to, input) = (Address::repeat_byte(0xcc), input.into());
    match kind {
        0 => TxEip1559 {
            chain_id: number,
            nonce: number,
            gas_limit: number,
            max_fee_per_gas: fee,
            max_priority_fee_per_gas: fee,
            to: TxKind::Call(to),
            value: U256::MAX,
            access_list,
            input,
        }
        .into_signed(signature)
        .into(),
        1 => TxEip4844 {
            chain_id: number,
            nonce: number,
            gas_limit: number,
            max_fee_per_gas: fee,
            max_priority_fee_per_gas: fee,
            to,
            value: U256::MAX,
            access_list,
            blob_versioned_hashes: vec![B256::repeat_byte(1); 6],
            max_fee_per_blob_gas: fee,
            input,
        }
        .into_signed(signature)
        .into(),
        _ => TxEip7702 {
            chain_id: number,
            nonce: number,
            gas_limit: number,
            max_fee_per_gas: fee,
            max_priority_fee_per_gas: fee,
            to,
            value: U256::MAX,
            access_list,
            authorization_list: vec![
                SignedAuthorization::new_unchecked(
                    Authorization { chain_id: U256::MAX, address: to, nonce: u64::MAX },
                    1,
                    U256::MAX,
                    U256::MAX,
                );
                9
            ],
            input,
        }
        .into_signed(signature)
        .into(),
    }
}

#[test]
fn the_smallest_values_have_the_lower_bounds() {
    let log = Log::new_unchecked(Address::ZERO, vec![], vec![].into());
    // A removed log is shorter by one byte.
    let log_size = rendered_log(&log, [0; 4]) - 1;
    let legacy = TxLegacy { to: TxKind::Create, ..TxLegacy::default() };
    let signed = legacy.into_signed(Signature::new(U256::ZERO, U256::ZERO, false));
    let transaction = Transaction::new(signed, Address::ZERO);
    let header = Header::default();
    let block = BlockOfReceipt { header: &header, hash: &B256::ZERO, blob_base_fee: None, l1_fees: None };
    let (mut receipt_json, mut json) = (Vec::new(), Vec::new());
    let empty = Receipt { kind: 0, ..receipt(vec![]) };
    write_receipt(&mut receipt_json, &block, 0, &transaction, &empty);
    write_transaction(&mut json, &transaction, None);
    let sizes = [log_size, receipt_json.len(), json.len()];
    assert_eq!(sizes, [MIN_LOG, MIN_RECEIPT, MIN_TRANSACTION]);
}

proptest! {
    #[test]
    fn a_log_is_within_its_bounds(log in log(), numbers in [word(), word(), word(), word()]) {
        let size = rendered_log(&log, numbers);
        assert!(min_log_size(&log) <= size && size <= min_log_size(&log) + 90, "{size}");
        assert_bound(log_json_size(&log), size, 0);
    }

    #[test]
    fn a_receipt_is_within_its_bounds(
        logs in prop::collection::vec(log(), 0..6),
        kind in 0..3_u8,
        number in word(),
        create in any::<bool>(),
        root in any::<bool>(),
    ) {
        let receipt = Receipt {
            status: if root { Eip658Value::PostState(B256::ZERO) } else { Eip658Value::Eip658(true) },
            cumulative_gas_used: number,
            gas_used: number,
            contract_address: create.then_some(Address::ZERO),
            first_log_index: number >> 1,
            ..receipt(logs)
        };
        let size = rendered_receipt(&receipt, kind, number);
        let counts = BlockCounts {
            number,
            hash: B256::ZERO,
            transactions: 1,
            transactions_length: 0,
            logs: receipt.logs.len() as u64,
        };
        assert!(min_receipts_size(&counts) <= size, "{size}");
        let bounds = SizeBounds::receipt(&receipt);
        assert_eq!(bounds.max, receipt_json_size(&receipt));
        assert!(bounds.min <= size && min_receipts_size(&counts) <= bounds.min, "{size} {bounds:?}");
        assert_bound(bounds.max, size, 1024);
    }

    #[test]
    fn a_transaction_is_within_its_bounds(
        kind in 0..3_u8,
        items in prop::collection::vec(0..6_usize, 0..5),
        input in prop::collection::vec(any::<u8>(), 0..600),
        number in word(),
    ) {
        let transaction = transaction(full(kind, items, input, number));
        let header = Header { number, timestamp: number, base_fee_per_gas: Some(number), ..Header::default() };
        let hash = B256::ZERO;
        let inclusion = Inclusion { header: &header, block_hash: &hash, index: number, deposit_nonce: None };
        let mut out = Vec::new();
        write_transaction(&mut out, &transaction, Some(inclusion));
        assert!(2 * transaction.encoded().len() <= out.len(), "a lower bound of a block with transactions");
        let bounds = SizeBounds::transaction(&transaction);
        assert!(bounds.min <= out.len(), "{} {bounds:?}", out.len());
        assert_bound(bounds.max, out.len(), 1024);
    }
}

/// For each shape, with as many logs as 2^24 gas buys. Memory, stack and calls cost gas in addition.
#[test]
fn the_default_limit_admits_every_receipt_of_one_transaction() {
    let empty = receipt(Vec::new());
    let mut largest = (0, 0, 0);
    for topics in 0..=4 {
        for bytes in (0..=20).map(|bits| (1_usize << bits) - 1) {
            let cost = LOG * (1 + topics) + BYTE * bytes;
            let logs = (MAX_GAS - INTRINSIC) / cost;
            let log = Log::new_unchecked(Address::ZERO, vec![B256::ZERO; topics], vec![0; bytes].into());
            let size = receipt_json_size(&empty) + logs * log_json_size(&log);
            assert!(size <= PUBLIC_RESPONSE, "{logs} logs of {topics} topics and {bytes} bytes: {size}");
            largest = largest.max((size, topics, bytes));
        }
    }
    assert_eq!((largest.1, largest.2), (0, 0), "empty logs without topics are the largest");
}
