//! Submissions that are rejected before any state is read.

use std::path::PathBuf;

use alloy_consensus::{TxEip1559, TxEip4844, TxEip7702, TxLegacy};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use foreseal_pool::{Pool, PoolConfig, PoolError, decode_many, decode_unverified};
use foreseal_primitives::{ChainSpec, DEV_CHAIN_ID, DEV_GAS_LIMIT, TRANSACTION_GAS_CAP, parse_genesis};
use revm_bytecode::Bytecode;

use crate::chain::{Chain, GWEI, Key, pool, rich, transfer};

fn rejection(chain: &Chain, raw: &[u8]) -> PoolError {
    chain.submit(&pool(), raw).unwrap_err()
}

/// Creates the development chain with one fork field changed.
fn chain_with(change: impl FnOnce(&mut alloy_genesis::Genesis)) -> Chain {
    let mut genesis = Chain::new().spec.genesis().clone();
    change(&mut genesis);
    Chain::from_spec(ChainSpec::new(genesis).unwrap())
}

#[test]
fn bytes_that_are_not_a_transaction_are_rejected() {
    let (chain, key) = rich(1);
    let good = key.dynamic(0, GWEI, 1);
    let mut trailing = good.clone();
    trailing.push(0);
    // The length of the payload uses more bytes than it needs.
    let mut long_form = vec![2, 0xf9, 0];
    long_form.extend_from_slice(&good[2..]);
    for raw in
        [&[][..], &[0x7f], &[0xc0], &[2, 0xc0], &[5, 0xc0], &good[..good.len() - 1], &trailing, &long_form]
    {
        let error = rejection(&chain, raw);
        assert!(matches!(error, PoolError::Decode(_)), "{}: {error}", hex::encode(raw));
    }
}

#[test]
fn a_transaction_above_the_size_limit_is_rejected() {
    let (chain, key) = rich(1);
    let with_input = |length: usize| {
        key.raw(TxEip1559 { gas_limit: 16_000_000, input: vec![0; length].into(), ..transfer(0) })
    };
    let limit = pool().config().max_transaction_bytes;
    let overhead = with_input(limit).len() - limit;
    chain.submit(&pool(), &with_input(limit - overhead)).unwrap();
    assert_eq!(
        rejection(&chain, &with_input(limit - overhead + 1)),
        PoolError::TooLarge { size: limit + 1, limit }
    );
}

#[test]
fn another_chain_id_is_rejected() {
    let (chain, key) = rich(1);
    let raw = key.raw(TxEip1559 { chain_id: 1, ..transfer(0) });
    assert_eq!(rejection(&chain, &raw), PoolError::ChainId { have: 1, want: DEV_CHAIN_ID });
    let legacy = |chain_id| TxLegacy {
        chain_id,
        gas_price: GWEI,
        gas_limit: 21_000,
        to: TxKind::Call(Address::ZERO),
        ..TxLegacy::default()
    };
    assert_eq!(
        rejection(&chain, &key.raw(legacy(Some(1)))),
        PoolError::ChainId { have: 1, want: DEV_CHAIN_ID }
    );
    // A transaction without EIP-155 names no chain.
    chain.submit(&pool(), &key.raw(legacy(None))).unwrap();
}

#[test]
fn a_high_s_is_rejected() {
    use alloy_consensus::{EthereumTxEnvelope, SignableTransaction};
    use alloy_eips::eip2718::Encodable2718;
    let (chain, key) = rich(1);
    let transaction = transfer(0);
    let signature = key.sign(transaction.signature_hash());
    let order =
        U256::from_be_slice(&hex!("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"));
    let high = Signature::new(signature.r(), order - signature.s(), !signature.v());
    let raw = EthereumTxEnvelope::<TxEip4844>::from(transaction.into_signed(high)).encoded_2718();
    assert_eq!(rejection(&chain, &raw), PoolError::Signature);
}

#[test]
fn a_zero_signature_is_rejected() {
    use alloy_consensus::{EthereumTxEnvelope, SignableTransaction};
    use alloy_eips::eip2718::Encodable2718;
    let (chain, _) = rich(1);
    let zero = Signature::new(U256::ZERO, U256::ZERO, false);
    let raw = EthereumTxEnvelope::<TxEip4844>::from(transfer(0).into_signed(zero)).encoded_2718();
    assert_eq!(rejection(&chain, &raw), PoolError::Signature);
}

#[test]
fn gas_outside_the_limits_is_rejected() {
    let (chain, key) = rich(1);
    let with = |gas_limit, input: &[u8]| {
        key.raw(TxEip1559 { gas_limit, input: Bytes::copy_from_slice(input), ..transfer(0) })
    };
    assert_eq!(rejection(&chain, &with(20_999, &[])), PoolError::IntrinsicGas { have: 20_999, want: 21_000 });
    // EIP-2028: 16 gas per byte; EIP-7623: a floor of 40 gas per byte.
    let input = [1; 100];
    assert_eq!(
        rejection(&chain, &with(22_599, &input)),
        PoolError::IntrinsicGas { have: 22_599, want: 22_600 }
    );
    assert_eq!(rejection(&chain, &with(24_999, &input)), PoolError::FloorGas { have: 24_999, want: 25_000 });
    chain.submit(&pool(), &with(25_000, &input)).unwrap();
    let cap = TRANSACTION_GAS_CAP;
    assert_eq!(rejection(&chain, &with(cap + 1, &[])), PoolError::GasCap { have: cap + 1, cap });
    chain.submit(&pool(), &with(cap, &[])).unwrap();
}

#[test]
fn a_tip_below_the_minimum_is_rejected() {
    let (mut chain, key) = rich(1);
    let min_tip = 1_000_000;
    let pool = Pool::new(PoolConfig { min_tip, ..PoolConfig::default() });
    let error = PoolError::Underpriced { tip: min_tip - 1, min_tip };
    assert_eq!(error.message(), "transaction underpriced");
    let wanted = [
        ("maxPriorityFeePerGas", U256::from(min_tip - 1)),
        ("wantMaxPriorityFeePerGas", U256::from(min_tip)),
    ];
    assert_eq!(error.data(), wanted);
    let low =
        [key.dynamic(0, 2 * GWEI, min_tip - 1), key.legacy(0, min_tip - 1), key.access_list(0, min_tip - 1)];
    for raw in &low {
        assert_eq!(chain.submit(&pool, raw), Err(error.clone()));
        decode_unverified(raw, &pool.rules(&chain.spec, &chain.header).without_policy()).unwrap();
    }
    chain.submit(&pool, &key.dynamic(0, 2 * GWEI, min_tip)).unwrap();
    chain.submit(&pool, &key.legacy(1, GWEI)).unwrap();
    // The fees are checked before the state.
    chain.fund(&key, 0);
    assert_eq!(chain.submit(&pool, &low[0]), Err(error));
}

/// Removes Osaka and the forks after it from a genesis.
fn end_before_osaka(genesis: &mut alloy_genesis::Genesis) {
    let config = &mut genesis.config;
    (config.osaka_time, config.bpo1_time, config.bpo2_time) = (None, None, None);
}

#[test]
fn before_osaka_the_pool_may_have_a_gas_cap() {
    let mut chain = chain_with(end_before_osaka);
    let key = Key::new(1);
    chain.fund(&key, 1_000_000 * GWEI * GWEI);
    let cap = TRANSACTION_GAS_CAP;
    let capped = Pool::new(PoolConfig { max_gas: Some(cap), ..PoolConfig::default() });
    let with = |gas_limit| key.raw(TxEip1559 { gas_limit, ..transfer(0) });
    assert_eq!(chain.submit(&capped, &with(cap + 1)), Err(PoolError::GasCap { have: cap + 1, cap }));
    chain.submit(&capped, &with(cap)).unwrap();
    chain.submit(&pool(), &with(cap + 1)).unwrap();
}

#[test]
fn before_osaka_the_block_gas_limit_is_enforced() {
    let mut chain = chain_with(end_before_osaka);
    let key = Key::new(1);
    chain.fund(&key, 1_000_000 * GWEI * GWEI);
    let with = |gas_limit| key.raw(TxEip1559 { gas_limit, ..transfer(0) });
    chain.submit(&pool(), &with(DEV_GAS_LIMIT)).unwrap();
    assert_eq!(
        rejection(&chain, &with(DEV_GAS_LIMIT + 1)),
        PoolError::BlockGasLimit { have: DEV_GAS_LIMIT + 1, limit: DEV_GAS_LIMIT }
    );
}

#[test]
fn init_code_above_the_limit_is_rejected() {
    let (chain, key) = rich(1);
    let with = |length: usize| {
        key.raw(TxEip1559 {
            gas_limit: 16_000_000,
            to: TxKind::Create,
            input: vec![0; length].into(),
            ..transfer(0)
        })
    };
    chain.submit(&pool(), &with(49_152)).unwrap();
    assert_eq!(rejection(&chain, &with(49_153)), PoolError::InitCodeTooLarge { size: 49_153, limit: 49_152 });
}

#[test]
fn invalid_fees_and_the_highest_nonce_are_rejected() {
    let (chain, key) = rich(1);
    assert_eq!(
        rejection(&chain, &key.dynamic(0, GWEI, GWEI + 1)),
        PoolError::TipAboveMaxFee { tip: GWEI + 1, max_fee: GWEI }
    );
    assert_eq!(rejection(&chain, &key.dynamic(u64::MAX, GWEI, 1)), PoolError::NonceMax);
    chain.submit(&pool(), &key.dynamic(u64::MAX - 1, GWEI, 1)).unwrap();
    // No balance covers that cost, and the sum does not wrap.
    let error = rejection(&chain, &key.dynamic(0, u128::MAX, u128::MAX));
    assert!(matches!(error, PoolError::InsufficientFunds { .. }), "{error}");
    let all = key.raw(TxEip1559 { value: U256::MAX, ..transfer(0) });
    assert!(matches!(rejection(&chain, &all), PoolError::InsufficientFunds { cost: U256::MAX, .. }));
}

#[test]
fn a_fee_below_the_base_fee_is_queued() {
    let (chain, key) = rich(1);
    let pool = pool();
    pool.on_fees(1_000_000_000, 1);
    let hash = chain.submit(&pool, &key.dynamic(0, GWEI - 1, 0)).unwrap().hash;
    assert_eq!(
        pool.status(&hash),
        foreseal_pool::Status::Queued(foreseal_pool::QueuedReason::BaseFee {
            max_fee: GWEI - 1,
            base_fee: GWEI
        })
    );
    assert_eq!(pool.best(1_000_000_000, 1).count(), 0);
    assert_eq!(pool.best(999_999_999, 1).count(), 1);
}

#[test]
fn a_type_before_its_fork_is_rejected() {
    let key = Key::new(1);
    let raw = set_code(&key, vec![authorization(&key)]);
    let before = chain_with(|genesis| {
        genesis.config.prague_time = None;
        end_before_osaka(genesis);
    });
    assert_eq!(rejection(&before, &raw), PoolError::TypeNotActive { kind: 4 });
    let frontier = chain_with(|genesis| {
        genesis.config = alloy_genesis::ChainConfig { chain_id: DEV_CHAIN_ID, ..Default::default() };
        genesis.difficulty = U256::from(1);
    });
    assert_eq!(rejection(&frontier, &key.access_list(0, GWEI)), PoolError::TypeNotActive { kind: 1 });
    assert_eq!(rejection(&frontier, &key.dynamic(0, GWEI, 0)), PoolError::TypeNotActive { kind: 2 });
    assert!(matches!(rejection(&frontier, &key.legacy(0, GWEI)), PoolError::InsufficientFunds { .. }));
}

fn authorization(key: &Key) -> SignedAuthorization {
    let authorization =
        Authorization { chain_id: U256::from(DEV_CHAIN_ID), address: Address::repeat_byte(7), nonce: 1 };
    let signature = key.sign(authorization.signature_hash());
    authorization.into_signed(signature)
}

fn set_code(key: &Key, authorization_list: Vec<SignedAuthorization>) -> Vec<u8> {
    key.raw(TxEip7702 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 100_000,
        max_fee_per_gas: GWEI,
        to: key.address,
        authorization_list,
        ..TxEip7702::default()
    })
}

#[test]
fn set_code_authorizations_are_required_and_cost_gas() {
    let (chain, key) = rich(1);
    assert_eq!(rejection(&chain, &set_code(&key, Vec::new())), PoolError::EmptyAuthorizationList);
    chain.submit(&pool(), &set_code(&key, vec![authorization(&key)])).unwrap();
    let many = vec![authorization(&key); 4];
    // EIP-7702: 25,000 gas per authorization.
    assert_eq!(
        rejection(&chain, &set_code(&key, many)),
        PoolError::IntrinsicGas { have: 100_000, want: 121_000 }
    );
}

#[test]
fn a_sender_with_code_needs_a_delegation() {
    let (mut chain, key) = rich(1);
    let raw = key.dynamic(0, GWEI, 0);
    chain.set_code(&key, Bytecode::new_eip7702(Address::repeat_byte(7)));
    chain.submit(&pool(), &raw).unwrap();
    chain.set_code(&key, Bytecode::new_raw(Bytes::from_static(&[0x60, 0])));
    assert_eq!(rejection(&chain, &raw), PoolError::SenderHasCode);
    // Unreadable code is a failure of the node, not of the sender.
    chain.accounts.get_mut(&key.address).unwrap().code_hash = B256::repeat_byte(1);
    assert!(matches!(rejection(&chain, &raw), PoolError::State(_)));
}

#[test]
fn decoding_many_transactions_preserves_their_order() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raws: Vec<_> =
        (0..50).map(|nonce| if nonce % 7 == 3 { vec![0xc0] } else { key.dynamic(nonce, GWEI, 0) }).collect();
    let decoded = decode_many(&raws, &pool.rules(&chain.spec, &chain.header));
    assert_eq!(decoded.len(), raws.len());
    for (nonce, submission) in (0..).zip(decoded) {
        match submission {
            Ok(submission) => assert_eq!((submission.nonce(), submission.sender()), (nonce, key.address)),
            Err(error) => assert!(nonce % 7 == 3 && matches!(error, PoolError::Decode(_))),
        }
    }
}

/// Uses the recorded exchanges of the execution API; skipped without the shared vectors.
#[test]
fn samples_of_the_execution_api_are_accepted() {
    let shared = std::env::var_os("FORESEAL_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let vectors = shared.join("vectors/execution-apis");
    let Ok(genesis) = std::fs::read_to_string(vectors.join("genesis.json")) else {
        eprintln!("skipped: no vectors in {}", vectors.display());
        return;
    };
    let spec = ChainSpec::new(parse_genesis(&genesis).unwrap()).unwrap();
    let mut chain = Chain::from_spec(spec);
    chain.header.timestamp = u64::MAX / 2;
    let mut seen = 0;
    for entry in std::fs::read_dir(vectors.join("eth_sendRawTransaction")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let raw = text.split("\"params\":[\"").nth(1).unwrap().split('"').next().unwrap();
        let hash = text.split("\"result\":\"").nth(1).unwrap().split('"').next().unwrap();
        let submission = chain.decode(&pool(), &hex::decode(raw).unwrap()).unwrap();
        assert_eq!(submission.hash(), hash.parse::<B256>().unwrap());
        seen += 1;
    }
    assert!(seen > 0);
}
