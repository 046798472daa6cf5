//! Cost of a step and of a burst of submissions with 100,000 transactions of as many senders in the pool.

use std::{collections::HashMap, hint::black_box, sync::Arc};

use alloy_consensus::{
    EthereumTxEnvelope, Header, SignableTransaction, TxEip1559, TxEip4844,
    crypto::secp256k1::{recover_signer, sign_message},
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, TxKind, U256, keccak256};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use foreseal_pool::{CheckedTransaction, PendingHead, Pool, PoolConfig, Rules, decode_many};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, DEV_CHAIN_ID, DEV_GAS_LIMIT, DevGenesis, StateDiff,
    dev_genesis,
};
use foreseal_state::{NoStorage, StateError, StateReader, StorageReader};
use revm_bytecode::Bytecode;

const POOLED: u64 = 100_000;
const STEP: u64 = 5_000;
const GWEI: u128 = 1_000_000_000;
const BASE_FEE: u64 = 1_000_000_000;

/// Accounts in a map, each with the same balance.
struct Accounts(HashMap<Address, Account>);

impl StateReader for Accounts {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.0.get(address).copied())
    }

    fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
        Ok(U256::ZERO)
    }

    fn account_storage(&self, _: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(Box::new(NoStorage))
    }

    fn has_storage(&self, _: &Address) -> Result<bool, StateError> {
        Ok(false)
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        Err(StateError::MissingCode(*hash))
    }
}

impl PendingHead for Accounts {
    fn state(&self) -> &dyn StateReader {
        self
    }

    fn is_preconfirmed(&self, _: &B256) -> bool {
        false
    }
}

/// Returns a transfer with fees that differ from seed to seed.
fn transfer(seed: u64, nonce: u64) -> Vec<u8> {
    let tip = u128::from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 5_000) * 1_000_000;
    let transaction = TxEip1559 {
        chain_id: DEV_CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2 * GWEI + tip,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(Address::ZERO),
        ..TxEip1559::default()
    };
    let signature = sign_message(secret(seed), transaction.signature_hash()).expect("a valid key");
    EthereumTxEnvelope::<TxEip4844>::from(transaction.into_signed(signature)).encoded_2718()
}

fn secret(seed: u64) -> B256 {
    keccak256(seed.to_be_bytes())
}

fn address(seed: u64) -> Address {
    let signature = sign_message(secret(seed), B256::ZERO).expect("a valid key");
    recover_signer(&signature, B256::ZERO).expect("a valid signature")
}

/// State that is prepared once.
struct World {
    accounts: Accounts,
    rules: Rules,
    pooled: Vec<CheckedTransaction>,
    newcomers: Vec<CheckedTransaction>,
    raw_newcomers: Vec<Vec<u8>>,
}

impl World {
    fn new() -> Self {
        let settings = DevGenesis {
            chain_id: DEV_CHAIN_ID,
            gas_limit: DEV_GAS_LIMIT,
            timestamp: 0,
            accounts: Vec::new(),
            balance: U256::ZERO,
        };
        let spec = ChainSpec::new(dev_genesis(&settings)).expect("the development genesis");
        let header: Header = spec.genesis_header(B256::ZERO);
        let rules = Rules::new(&PoolConfig::default(), &spec, &header);
        let account = Account { balance: U256::from(GWEI * GWEI), ..Account::default() };
        let accounts = (0..POOLED + STEP).map(|seed| (address(seed), account)).collect();
        let decode = |raws: &[Vec<u8>]| -> Vec<CheckedTransaction> {
            decode_many(raws, &rules).into_iter().map(|s| s.expect("a valid transaction")).collect()
        };
        let raw_pooled: Vec<_> = (0..POOLED).map(|seed| transfer(seed, 0)).collect();
        let raw_newcomers: Vec<_> = (POOLED..POOLED + STEP).map(|seed| transfer(seed, 0)).collect();
        let (pooled, newcomers) = (decode(&raw_pooled), decode(&raw_newcomers));
        Self { accounts: Accounts(accounts), rules, pooled, newcomers, raw_newcomers }
    }

    fn pool(&self) -> Pool {
        self.pool_with(PoolConfig::default())
    }

    fn pool_with(&self, config: PoolConfig) -> Pool {
        let pool = Pool::new(config);
        pool.on_fees(BASE_FEE, 1);
        self.add(&pool, self.pooled.clone());
        pool
    }

    fn add(&self, pool: &Pool, submissions: Vec<CheckedTransaction>) {
        for submission in submissions {
            pool.add(submission, || &self.accounts).expect("room for it");
        }
    }
}

fn pool(criterion: &mut Criterion) {
    let world = World::new();
    let step = usize::try_from(STEP).expect("a small number");
    let mut group = criterion.benchmark_group("pool");
    group.sample_size(10).throughput(Throughput::Elements(STEP));

    group.bench_function("decode and recover 5,000", |bencher| {
        bencher.iter(|| decode_many(black_box(&world.raw_newcomers), &world.rules));
    });
    group.bench_function("add 5,000 to 100,000", |bencher| {
        bencher.iter_batched(
            || (world.pool(), world.newcomers.clone()),
            |(pool, newcomers)| {
                world.add(&pool, newcomers);
                pool
            },
            BatchSize::PerIteration,
        );
    });

    let pool = world.pool();
    group.bench_function("best 5,000 of 100,000", |bencher| {
        bencher.iter(|| {
            pool.best(BASE_FEE, 1).take(step).map(|t| t.cost()).fold(U256::ZERO, U256::wrapping_add)
        });
    });
    let included: Vec<_> = pool.best(BASE_FEE, 1).take(step).map(|t| t.transaction().clone()).collect();
    let mut diff = StateDiff::default();
    for transaction in &included {
        let account = Account { nonce: 1, balance: U256::from(GWEI * GWEI), ..Account::default() };
        let changed = AccountDiff { account: Some(account), ..AccountDiff::default() };
        diff.accounts.push(ChangedAccount { address: transaction.sender(), diff: changed });
    }
    diff.accounts.sort_by_key(|changed| changed.address);
    group.bench_function("a step with 5,000 of 100,000 included", |bencher| {
        bencher.iter_batched(
            || Arc::new(world.pool()),
            |pool| {
                pool.on_step(&included, &diff);
                pool
            },
            BatchSize::PerIteration,
        );
    });

    group.throughput(Throughput::Elements(1));
    group.bench_function("base fee up and down by an eighth", |bencher| {
        bencher.iter(|| {
            pool.on_fees(BASE_FEE + BASE_FEE / 8, 1);
            pool.on_fees(BASE_FEE, 1);
        });
    });
    group.bench_function("base fee across the slack of all 100,000 and back", |bencher| {
        bencher.iter(|| {
            pool.on_fees(2 * BASE_FEE + 1, 1);
            pool.on_fees(BASE_FEE, 1);
        });
    });
    group.finish();
}

criterion_group!(benches, pool);
criterion_main!(benches);
