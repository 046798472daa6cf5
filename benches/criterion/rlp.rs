//! RLP of an EIP-1559 transaction.

use std::{hint::black_box, time::Duration};

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, Signature, TxKind, U256};
use alloy_rlp::{Decodable, Encodable};
use criterion::{Criterion, criterion_group, criterion_main};
use foreseal_primitives::Envelope;

fn transaction() -> Envelope {
    let unsigned = TxEip1559 {
        chain_id: 1,
        nonce: 42,
        gas_limit: 65_000,
        max_fee_per_gas: 30_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(Address::repeat_byte(0x11)),
        value: U256::ZERO,
        access_list: AccessList::default(),
        input: vec![0xa9; 68].into(),
    };
    let signature = Signature::new(U256::MAX >> 1, U256::MAX >> 2, true);
    unsigned.into_signed(signature).into()
}

fn rlp(c: &mut Criterion) {
    let transaction = transaction();
    let encoded = alloy_rlp::encode(&transaction);
    assert_eq!(Envelope::decode(&mut &encoded[..]), Ok(transaction.clone()));
    let mut out = Vec::with_capacity(1024);
    c.bench_function("rlp_encode_1559", |b| {
        b.iter(|| {
            out.clear();
            black_box(&transaction).encode(&mut out);
        });
    });
    c.bench_function("rlp_decode_1559", |b| b.iter(|| Envelope::decode(&mut black_box(&encoded[..]))));
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300));
    targets = rlp
}
criterion_main!(benches);
