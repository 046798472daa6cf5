//! Compares the written JSON with the output of alloy's RPC types.

use std::sync::Arc;

use alloy_consensus::{
    Eip658Value, Header, ReceiptEnvelope, ReceiptWithBloom, SignableTransaction, TxEip1559, TxEip2930,
    TxEip4844, TxEip7702, TxLegacy, transaction::Recovered,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip4895::{Withdrawal, Withdrawals},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, Log, LogData, Signature, TxKind, U256};
use alloy_rpc_types_eth as rpc;
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{
    Block, ChainSpec, DevGenesis, Envelope, Receipt, Transaction, dev_genesis, length_in_block,
    receipt_json_size, transaction_json_size,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    block::write_block,
    hex::write_quantity,
    object::{Object, write_list},
    receipt::{BlockOfReceipt, write_receipt},
    transaction::{Inclusion, write_transaction},
};

const BASE_FEE: u64 = 7;

fn access_list() -> AccessList {
    let keys = vec![B256::ZERO, B256::repeat_byte(9)];
    AccessList(vec![
        AccessListItem { address: Address::repeat_byte(8), storage_keys: keys },
        AccessListItem { address: Address::ZERO, storage_keys: vec![] },
    ])
}

/// Signature with a leading zero in `r`: signature numbers are quantities.
fn signature() -> Signature {
    Signature::new(U256::from(1u64) << 200, U256::MAX >> 1, true)
}

const NONCE: u64 = 5;
const GAS: u64 = 100_000;
const TO: Address = Address::repeat_byte(0xaa);
const INPUT: Bytes = Bytes::from_static(&[1, 2, 3]);

fn legacy(chain_id: Option<u64>, to: TxKind) -> Envelope {
    let value = U256::from(10).pow(U256::from(20));
    let transaction =
        TxLegacy { chain_id, nonce: NONCE, gas_price: 20, gas_limit: GAS, to, value, input: INPUT };
    transaction.into_signed(signature()).into()
}

fn dynamic_fee() -> TxEip1559 {
    TxEip1559 {
        chain_id: 1,
        nonce: NONCE,
        gas_limit: GAS,
        max_fee_per_gas: 30,
        max_priority_fee_per_gas: 2,
        to: TxKind::Create,
        value: U256::ZERO,
        access_list: AccessList::default(),
        input: INPUT,
    }
}

/// Returns one envelope of each type; legacy with and without a chain id.
fn envelopes() -> Vec<Envelope> {
    let TxEip1559 { chain_id, nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, value, .. } =
        dynamic_fee();
    let (to, input, access_list) = (TO, INPUT, access_list());
    let priced = TxEip2930 {
        chain_id,
        nonce,
        gas_price: 20,
        gas_limit,
        to: to.into(),
        value,
        access_list: access_list.clone(),
        input: input.clone(),
    };
    let blob = TxEip4844 {
        chain_id,
        nonce,
        gas_limit,
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value,
        access_list: access_list.clone(),
        blob_versioned_hashes: vec![B256::repeat_byte(1)],
        max_fee_per_blob_gas: 4,
        input: input.clone(),
    };
    let authorization = Authorization { chain_id: U256::from(1), address: to, nonce: 3 };
    let set_code = TxEip7702 {
        chain_id,
        nonce,
        gas_limit,
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value,
        access_list,
        authorization_list: vec![SignedAuthorization::new_unchecked(
            authorization,
            1,
            U256::from(5),
            U256::from(6),
        )],
        input,
    };
    let sign = signature();
    vec![
        legacy(None, TxKind::Create),
        legacy(Some(31_337), TxKind::Call(to)),
        priced.into_signed(sign).into(),
        dynamic_fee().into_signed(sign).into(),
        blob.into_signed(sign).into(),
        set_code.into_signed(sign).into(),
    ]
}

fn header() -> Header {
    Header {
        number: 9,
        timestamp: 1_700_000_000,
        gas_limit: 30_000_000,
        gas_used: 21_000,
        nonce: B64::ZERO,
        base_fee_per_gas: Some(BASE_FEE),
        extra_data: Bytes::from_static(b"seal"),
        withdrawals_root: Some(B256::repeat_byte(1)),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(131_072),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(B256::repeat_byte(2)),
        ..Header::default()
    }
}

fn receipt(kind: u8, status: Eip658Value) -> Receipt {
    let topics = vec![B256::repeat_byte(1), B256::repeat_byte(2)];
    let log = |topics| Log {
        address: Address::repeat_byte(3),
        data: LogData::new_unchecked(topics, Bytes::from_static(&[7])),
    };
    let logs = vec![log(topics), log(vec![])];
    Receipt {
        kind,
        status,
        cumulative_gas_used: 50_000,
        bloom: logs_bloom(&logs),
        logs,
        gas_used: 29_000,
        contract_address: None,
        first_log_index: 15,
        deposit_nonce: None,
    }
}

/// Returns a block with a transaction of each type.
fn block() -> Block {
    let transactions: imbl::Vector<Arc<Transaction>> =
        envelopes().into_iter().map(|e| Arc::new(Transaction::new(e, Address::repeat_byte(0xbb)))).collect();
    let receipts = transactions.iter().map(|t| Arc::new(receipt(t.kind(), true.into()))).collect();
    let header = header();
    Block {
        hash: header.hash_slow(),
        header,
        transactions_length: transactions.iter().map(|t| length_in_block(t)).sum(),
        transactions,
        receipts,
        uncles: vec![],
        withdrawals: Some(Withdrawals::new(vec![Withdrawal {
            index: 1,
            validator_index: 2,
            address: Address::repeat_byte(4),
            amount: 5,
        }])),
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = b"before".to_vec();
    write(&mut out);
    serde_json::from_slice(&out[6..]).unwrap()
}

fn alloy_transaction(block: &Block, index: usize) -> rpc::Transaction<Envelope> {
    let transaction = &block.transactions[index];
    rpc::Transaction {
        inner: Recovered::new_unchecked(transaction.envelope().clone(), transaction.sender()),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        transaction_index: Some(index as u64),
        effective_gas_price: Some(transaction.effective_gas_price(Some(BASE_FEE))),
        block_timestamp: Some(block.header.timestamp),
    }
}

#[test]
fn transactions_of_every_kind_match_alloys_json() {
    let block = block();
    for index in 0..block.transactions.len() {
        let transaction = &block.transactions[index];
        let ours = written(|out| {
            write_transaction(out, transaction, Some(Inclusion::new(&block, index as u64)));
        });
        assert_eq!(ours, serde_json::to_value(alloy_transaction(&block, index)).unwrap());
    }
}

#[test]
fn a_pooled_transaction_has_no_block_and_its_maximum_price() {
    let block = block();
    for (transaction, price) in block.transactions.iter().zip([20, 20, 20, 30, 30, 30]) {
        let value = written(|out| write_transaction(out, transaction, None));
        for field in ["blockHash", "blockNumber", "blockTimestamp", "transactionIndex"] {
            assert_eq!(value.get(field), Some(&Value::Null), "{field}");
        }
        assert_eq!(value["gasPrice"], format!("{price:#x}"));
    }
}

#[test]
fn only_typed_transactions_have_parity() {
    let block = block();
    let fields = |index: usize| written(|out| write_transaction(out, &block.transactions[index], None));
    assert_eq!(fields(0).get("chainId"), None);
    assert_eq!((&fields(0)["v"], fields(0).get("yParity")), (&json!("0x1c"), None));
    assert_eq!((&fields(1)["v"], fields(1).get("yParity")), (&json!("0xf4f6"), None));
    assert_eq!((&fields(2)["v"], &fields(2)["yParity"]), (&json!("0x1"), &json!("0x1")));
}

#[test]
fn a_block_matches_alloys_json_in_full_and_by_hash() {
    let block = block();
    let mut header = rpc::Header::new(block.header.clone());
    header.size = Some(U256::from(block.size()));
    let full = (0..block.transactions.len()).map(|index| alloy_transaction(&block, index)).collect();
    let mut theirs = rpc::Block {
        header,
        uncles: vec![],
        transactions: rpc::BlockTransactions::<rpc::Transaction<Envelope>>::Full(full),
        withdrawals: block.withdrawals.clone(),
    };
    assert_eq!(written(|out| write_block(out, &block, true)), serde_json::to_value(&theirs).unwrap());
    theirs.transactions =
        rpc::BlockTransactions::Hashes(block.transactions.iter().map(|t| t.hash()).collect());
    assert_eq!(written(|out| write_block(out, &block, false)), serde_json::to_value(&theirs).unwrap());
}

#[test]
fn an_old_block_lacks_the_fields_of_later_forks() {
    let header = Header { number: 1, difficulty: U256::from(131_072), ..Header::default() };
    let old = Block { hash: header.hash_slow(), header, withdrawals: None, ..block() };
    let value = written(|out| write_block(out, &old, false));
    for field in ["baseFeePerGas", "withdrawals", "withdrawalsRoot", "blobGasUsed", "requestsHash"] {
        assert_eq!(value.get(field), None, "{field}");
    }
    assert_eq!(value["difficulty"], "0x20000");
    let empty = Block { withdrawals: Some(Withdrawals::default()), ..block() };
    assert_eq!(written(|out| write_block(out, &empty, false))["withdrawals"], json!([]));
}

fn alloy_receipt(block: &Block, index: usize, receipt: &Receipt) -> Value {
    let transaction = &block.transactions[index];
    let at = |(i, log): (usize, &Log)| rpc::Log {
        inner: log.clone(),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        block_timestamp: Some(block.header.timestamp),
        transaction_hash: Some(transaction.hash()),
        transaction_index: Some(index as u64),
        log_index: Some(receipt.first_log_index + i as u64),
        removed: false,
    };
    let inner = ReceiptWithBloom {
        receipt: alloy_consensus::Receipt {
            status: receipt.status,
            cumulative_gas_used: receipt.cumulative_gas_used,
            logs: receipt.logs.iter().enumerate().map(at).collect(),
        },
        logs_bloom: receipt.bloom,
    };
    let inner = match receipt.kind {
        0 => ReceiptEnvelope::Legacy(inner),
        1 => ReceiptEnvelope::Eip2930(inner),
        2 => ReceiptEnvelope::Eip1559(inner),
        3 => ReceiptEnvelope::Eip4844(inner),
        _ => ReceiptEnvelope::Eip7702(inner),
    };
    let blob = receipt.kind == 3;
    let envelope = transaction.envelope();
    let to = alloy_consensus::Transaction::to(envelope);
    serde_json::to_value(rpc::TransactionReceipt {
        inner,
        transaction_hash: transaction.hash(),
        transaction_index: Some(index as u64),
        block_hash: Some(block.hash),
        block_number: Some(block.header.number),
        gas_used: receipt.gas_used,
        effective_gas_price: transaction.effective_gas_price(Some(BASE_FEE)),
        blob_gas_used: blob.then_some(131_072),
        blob_gas_price: blob.then_some(1),
        from: transaction.sender(),
        to,
        contract_address: receipt.contract_address,
    })
    .unwrap()
}

#[test]
fn receipts_of_every_kind_and_status_match_alloys_json() {
    let block = block();
    let context =
        BlockOfReceipt { header: &block.header, hash: &block.hash, blob_base_fee: Some(1), l1_fees: None };
    for (index, transaction) in block.transactions.iter().enumerate() {
        for status in [Eip658Value::Eip658(true), Eip658Value::Eip658(false)] {
            let mut receipt = receipt(transaction.kind(), status);
            receipt.contract_address = (index == 0).then_some(Address::repeat_byte(0xcc));
            let ours = written(|out| write_receipt(out, &context, index as u64, transaction, &receipt));
            assert_eq!(ours, alloy_receipt(&block, index, &receipt));
        }
    }
}

#[test]
fn a_receipt_before_byzantium_has_a_root_and_no_status() {
    let block = block();
    let context =
        BlockOfReceipt { header: &block.header, hash: &block.hash, blob_base_fee: None, l1_fees: None };
    let receipt = Receipt {
        logs: vec![],
        bloom: Bloom::ZERO,
        ..receipt(0, Eip658Value::PostState(B256::repeat_byte(5)))
    };
    let value = written(|out| write_receipt(out, &context, 0, &block.transactions[0], &receipt));
    assert_eq!(value["root"], json!(B256::repeat_byte(5)));
    assert_eq!(value.get("status"), None);
    assert_eq!(value["logs"], json!([]));
}

#[test]
fn objects_and_lists_may_be_empty() {
    assert_eq!(written(|out| Object::open(out).close()), json!({}));
    assert_eq!(written(|out| write_list(out, [0u64; 0], write_quantity)), json!([]));
    assert_eq!(written(|out| write_list(out, [0u64, 31], write_quantity)), json!(["0x0", "0x1f"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn quantities_match_rusts_hex_formatting(bits in 0usize..=256, bytes in any::<[u8; 32]>()) {
        let number = U256::from_be_bytes(bytes).checked_shr(256 - bits).unwrap_or_default();
        prop_assert_eq!(written(|out| write_quantity(out, number)), json!(format!("{number:#x}")));
        let small: u128 = (number & U256::from(u128::MAX)).to();
        prop_assert_eq!(written(|out| write_quantity(out, small)), json!(format!("{small:#x}")));
    }
}

/// A step and an answer are bounded by these sizes, so they must not be exceeded.
#[test]
fn size_bounds_hold_for_the_longest_quantities() {
    let mut block = block();
    (block.header.number, block.header.timestamp) = (u64::MAX, u64::MAX);
    let spec = ChainSpec::new(dev_genesis(&DevGenesis {
        chain_id: 1,
        gas_limit: 30_000_000,
        timestamp: 0,
        accounts: Vec::new(),
        balance: U256::ZERO,
    }))
    .unwrap();
    let context = BlockOfReceipt { blob_base_fee: Some(u128::MAX), ..BlockOfReceipt::new(&spec, &block) };
    for (transaction, receipt) in block.transactions.iter().zip(&block.receipts) {
        let longest = Receipt {
            gas_used: u64::MAX,
            cumulative_gas_used: u64::MAX,
            first_log_index: u64::MAX - 2,
            contract_address: Some(Address::repeat_byte(1)),
            ..Receipt::clone(receipt)
        };
        let length = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out.len()
        };
        let inclusion = Inclusion {
            header: &block.header,
            block_hash: &block.hash,
            index: u64::MAX,
            deposit_nonce: None,
        };
        let shown = length(&|out| write_transaction(out, transaction, Some(inclusion)));
        let bound = transaction_json_size(transaction);
        assert!(shown <= bound && bound < 2 * shown + 1_000, "transaction {shown} {bound}");
        let shown = length(&|out| write_receipt(out, &context, u64::MAX, transaction, &longest));
        let bound = receipt_json_size(&longest);
        assert!(shown <= bound && bound < 2 * shown + 1_000, "receipt {shown} {bound}");
    }
}
