//! Senders: wallets, and the transactions that the node accepted from them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
};

use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use foreseal_primitives::Transaction;
use foreseal_testkit::{Contract, Fees, Wallet, deploy_code, erc20_transfer};

/// Number of wallets with funds; one more wallet has none.
pub const WALLETS: usize = 3;
const GWEI: u128 = 1_000_000_000;

/// Parameters of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionSpec {
    pub wallet: usize,
    pub nonce: u64,
    /// Selects the call, deployment or transfer; also the value of a transfer.
    pub kind: u64,
    /// Priority fee in gwei; the maximum fee increases with it.
    pub tip: u64,
}

/// Cache of signed transactions. Signing is the slowest step of a run, and all seeds draw from the same
/// orders.
static SIGNED: Mutex<BTreeMap<TransactionSpec, Bytes>> = Mutex::new(BTreeMap::new());
/// Cache of blob transactions. Computing the proofs of a blob takes some hundred milliseconds.
static BLOBS: Mutex<BTreeMap<(usize, u64), Bytes>> = Mutex::new(BTreeMap::new());

/// Cache of large transactions, by wallet, nonce and size.
static LARGE: Mutex<BTreeMap<(usize, u64, usize), Bytes>> = Mutex::new(BTreeMap::new());

/// Wallets, and the transactions that the node accepted.
pub struct Senders {
    wallets: Vec<Wallet>,
    accepted: Vec<Bytes>,
    hashes: HashSet<B256>,
}

impl Default for Senders {
    fn default() -> Self {
        let wallets = Wallet::some(WALLETS as u64 + 1);
        Self { wallets, accepted: Vec::new(), hashes: HashSet::new() }
    }
}

impl Senders {
    /// Returns the wallets with funds.
    pub fn funded(&self) -> &[Wallet] {
        &self.wallets[..WALLETS]
    }

    pub fn address(&self, wallet: usize) -> Address {
        self.wallets[wallet].address
    }

    pub fn addresses(&self) -> Vec<Address> {
        self.wallets.iter().map(|wallet| wallet.address).collect()
    }

    /// Returns the signed transaction of this order.
    pub fn sign(&self, order: TransactionSpec) -> Bytes {
        let mut signed = SIGNED.lock().unwrap_or_else(PoisonError::into_inner);
        signed.entry(order).or_insert_with(|| self.make(order)).clone()
    }

    fn make(&self, order: TransactionSpec) -> Bytes {
        let TransactionSpec { wallet, nonce, kind, tip } = order;
        let from = &self.wallets[wallet];
        let tip = u128::from(tip) * GWEI;
        let fees = Fees { max_fee: 20 * GWEI + 4 * tip, tip };
        let call = |contract: Contract, data: Bytes| {
            from.eip1559(nonce, contract.address().into(), U256::ZERO, 150_000, data, fees)
        };
        let to = self.wallets[usize::try_from(kind).unwrap_or(0) % WALLETS].address;
        match kind % 8 {
            0 => call(Contract::Counter, Bytes::new()),
            1 => call(Contract::Logger, Bytes::copy_from_slice(to.into_word().as_slice())),
            2 => call(Contract::Reverter, Bytes::new()),
            3 => call(Contract::Erc20, erc20_transfer(to, U256::from(kind))),
            4 => call(Contract::Environment, Bytes::new()),
            5 => {
                let code = deploy_code(&Contract::Counter.code());
                from.eip1559(nonce, TxKind::Create, U256::ZERO, 300_000, code, fees)
            }
            _ => from.transfer(nonce, to, kind, fees),
        }
    }

    /// Returns the transaction that `make` creates from a wallet to the first one; it is created once for each
    /// key: wallet, nonce and size.
    pub fn sign_once(&self, key: (usize, u64, usize), make: impl FnOnce(&Wallet, Address) -> Bytes) -> Bytes {
        let mut large = LARGE.lock().unwrap_or_else(PoisonError::into_inner);
        large.entry(key).or_insert_with(|| make(&self.wallets[key.0], self.wallets[0].address)).clone()
    }

    /// Returns a transaction with a blob.
    pub fn blob(&self, wallet: usize, nonce: u64) -> Bytes {
        let mut blobs = BLOBS.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || self.wallets[wallet].blob(nonce, self.wallets[0].address, 7);
        blobs.entry((wallet, nonce)).or_insert_with(make).clone()
    }

    /// Records a transaction that the node accepted.
    pub fn record_accepted(&mut self, raw: &Bytes, hash: B256) {
        self.accepted.push(raw.clone());
        self.hashes.insert(hash);
    }

    /// Records a transaction that the node may have accepted.
    pub fn mark_uncertain(&mut self, hash: B256) {
        self.hashes.insert(hash);
    }

    /// Returns a transaction that enters a block without the pool, and records it as accepted.
    pub fn create(&mut self, order: TransactionSpec) -> Option<Transaction> {
        let raw = self.sign(order);
        let transaction = Transaction::decode(&raw).ok()?;
        self.record_accepted(&raw, transaction.hash());
        Some(transaction)
    }

    /// Returns an accepted transaction: the one with this number, modulo their count.
    pub fn any_accepted(&self, chance: u64) -> Option<&Bytes> {
        let count = self.accepted.len() as u64;
        if count == 0 { None } else { self.accepted.get(usize::try_from(chance % count).ok()?) }
    }

    /// Returns the number of accepted transactions.
    pub fn accepted_count(&self) -> u64 {
        self.accepted.len() as u64
    }

    /// Returns `true` if the node accepted or may have accepted the transaction.
    pub fn is_accepted(&self, hash: &B256) -> bool {
        self.hashes.contains(hash)
    }
}
