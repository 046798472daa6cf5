//! Encoding and decoding of the journal's values.

use std::sync::Arc;

use alloy_consensus::{Eip658Value, ReceiptEnvelope, ReceiptWithBloom, TxType};
use alloy_eips::{eip2718::Encodable2718, eip4895::Withdrawals};
use alloy_primitives::{Address, B256, Bytes, FixedBytes, Log, U256};
use alloy_rlp::{Decodable, Encodable, Header, PayloadView};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{
    Account, AccountDiff, BlockBytes, ChangedAccount, DEPOSIT_RECEIPT_VERSION, DEPOSIT_TYPE, Flashblock,
    NewCode, Receipt, StateDiff, StepSignature,
};
use op_alloy_consensus::{OpDepositReceipt, OpReceiptEnvelope};
use proptest::{collection::vec, option, prelude::*};

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

fn b256() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

/// Generates small and large values, including zero.
fn number() -> impl Strategy<Value = U256> {
    prop_oneof![
        Just(U256::ZERO),
        any::<u64>().prop_map(U256::from),
        any::<[u8; 32]>().prop_map(U256::from_be_bytes)
    ]
}

prop_compose! {
    fn account()(nonce: u64, balance in number(), code_hash in b256()) -> Account {
        Account { nonce, balance, code_hash }
    }
}

prop_compose! {
    fn changed()(
        address in address(),
        account in option::of(account()),
        wiped: bool,
        storage in vec((number(), number()), 0..6),
    ) -> ChangedAccount {
        ChangedAccount { address, diff: AccountDiff { account, wiped, storage } }
    }
}

prop_compose! {
    fn diff()(
        accounts in vec(changed(), 0..6),
        codes in vec((b256(), vec(any::<u8>(), 0..80)), 0..3),
    ) -> StateDiff {
        let codes = codes.into_iter().map(|(hash, code)| NewCode { hash, code: code.into() }).collect();
        StateDiff { accounts, codes }
    }
}

prop_compose! {
    fn log()(address in address(), topics in vec(b256(), 0..5), data in vec(any::<u8>(), 0..100)) -> Log {
        Log::new_unchecked(address, topics, data.into())
    }
}

prop_compose! {
    fn receipt()(
        kind in 0_u8..5,
        status in prop_oneof![
            any::<bool>().prop_map(Eip658Value::Eip658),
            b256().prop_map(Eip658Value::PostState)
        ],
        cumulative_gas_used: u64,
        gas_used: u64,
        first_log_index: u64,
        contract_address in option::of(address()),
        logs in vec(log(), 0..4),
        deposit_nonce in option::of(any::<u64>()),
    ) -> Receipt {
        let bloom = logs_bloom(&logs);
        Receipt {
            kind: if deposit_nonce.is_some() { DEPOSIT_TYPE } else { kind },
            status,
            cumulative_gas_used,
            logs,
            bloom,
            gas_used,
            contract_address,
            first_log_index,
            deposit_nonce,
        }
    }
}

fn survives<T: Encodable + Decodable + PartialEq + std::fmt::Debug>(value: &T) {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    assert_eq!(bytes.len(), value.length());
    assert_eq!(alloy_rlp::decode_exact::<T>(&bytes).unwrap(), *value);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_state_diff_round_trips(diff in diff()) {
        survives(&diff);
    }

    #[test]
    fn a_receipt_round_trips_and_its_bloom_is_recomputed(receipt in receipt()) {
        survives(&receipt);
    }

    /// Compares with alloy's own receipts.
    #[test]
    fn a_receipt_has_the_consensus_encoding(receipt in receipt()) {
        let inner = alloy_consensus::Receipt {
            status: receipt.status,
            cumulative_gas_used: receipt.cumulative_gas_used,
            logs: receipt.logs.clone(),
        };
        let logs_bloom = receipt.bloom;
        let peer = match receipt.deposit_nonce {
            None => {
                let with_bloom = ReceiptWithBloom { receipt: inner, logs_bloom };
                ReceiptEnvelope::from_typed(TxType::try_from(receipt.kind).unwrap(), with_bloom).encoded_2718()
            }
            Some(nonce) => {
                let deposit = OpDepositReceipt {
                    inner,
                    deposit_nonce: Some(nonce),
                    deposit_receipt_version: Some(DEPOSIT_RECEIPT_VERSION),
                };
                OpReceiptEnvelope::Deposit(ReceiptWithBloom { receipt: deposit, logs_bloom }).encoded_2718()
            }
        };
        let mut bytes = Vec::new();
        receipt.encode_2718(&mut bytes);
        prop_assert_eq!(Bytes::from(bytes), Bytes::from(peer));
    }

    #[test]
    fn damaged_bytes_never_panic(
        diff in diff(),
        receipt in receipt(),
        at: prop::sample::Index,
        bit in 0_u8..8,
    ) {
        for mut bytes in [alloy_rlp::encode(&diff), alloy_rlp::encode(&receipt)] {
            let position = at.index(bytes.len());
            bytes[position] ^= 1 << bit;
            let _ = alloy_rlp::decode_exact::<StateDiff>(&bytes);
            let _ = alloy_rlp::decode_exact::<Receipt>(&bytes);
            let _ = foreseal_primitives::Flashblock::decode(&bytes);
        }
    }
}

fn flashblock(time: u64, signature: Option<StepSignature>) -> Flashblock {
    let header = alloy_consensus::Header { number: 4, ..alloy_consensus::Header::default() };
    Flashblock {
        number: 4,
        index: 2,
        previous: B256::repeat_byte(1),
        hash: header.hash_slow(),
        header,
        time,
        signature,
        transactions: vec![],
        receipts: vec![],
        diff: Arc::default(),
        end_of_block_diff: Arc::default(),
    }
}

#[test]
fn a_step_round_trips_with_its_time_and_signature() {
    for (time, signature) in
        [(0, None), (5, None), (0, Some(FixedBytes::ZERO)), (u64::MAX, Some(FixedBytes::repeat_byte(9)))]
    {
        let read = Flashblock::decode(&flashblock(time, signature).encode()).unwrap();
        assert_eq!((read.time, read.signature, read.index), (time, signature, 2));
    }
}

#[test]
fn a_step_signature_of_another_length_is_rejected() {
    let bytes = flashblock(5, Some(FixedBytes::repeat_byte(9))).encode();
    let PayloadView::List(items) = Header::decode_raw(&mut &bytes[..]).unwrap() else { panic!("a list") };
    let signature = alloy_rlp::encode(&[9_u8; 64][..]);
    let payload = [items[..9].concat(), signature].concat();
    let mut short = Vec::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut short);
    short.extend(payload);
    let error = Flashblock::decode(&short).unwrap_err();
    assert_eq!(error.to_string(), "a step's signature does not have 65 bytes");
}

/// Regression test for a fuzzer finding: an empty string in their place was decoded as if they were absent.
#[test]
fn absent_withdrawals_are_omitted() {
    let block = |withdrawals: &[u8]| {
        let mut payload = alloy_rlp::encode(alloy_consensus::Header::default());
        payload.extend([0xc0, 0xc0]);
        payload.extend(withdrawals);
        let mut bytes = Vec::new();
        Header { list: true, payload_length: payload.len() }.encode(&mut bytes);
        bytes.extend(payload);
        alloy_rlp::decode_exact::<BlockBytes>(&bytes).map(|block| block.withdrawals)
    };
    assert_eq!(block(&[]), Ok(None));
    assert_eq!(block(&[0xc0]), Ok(Some(Withdrawals::default())));
    assert_eq!(block(&[0x80]), Err(alloy_rlp::Error::UnexpectedString));
}
