//! A minimal chain for submissions: accounts in a map, keys, and one-line transactions.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use alloy_consensus::{
    EthereumTxEnvelope, Header, SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxLegacy,
    crypto::secp256k1::{recover_signer, sign_message},
};
use alloy_eips::eip2718::Encodable2718;
use alloy_genesis::Genesis;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, Signature, TxKind, U256, keccak256};
use foreseal_pool::{
    AddedTransaction, CheckedTransaction, OptimismHead, PendingHead, Pool, PoolConfig, PoolError,
    PooledTransaction, decode_submission,
};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, DEV_CHAIN_ID, DEV_GAS_LIMIT, DevGenesis,
    L1_ATTRIBUTES_CONTRACT, OptimismFork, StateDiff, Transaction, dev_genesis,
};
use foreseal_state::{NoStorage, StateError, StateReader, StorageReader};
use foreseal_testkit::optimism_genesis;
use revm_bytecode::Bytecode;

/// 1 gwei in wei.
pub const GWEI: u128 = 1_000_000_000;

/// A minimal pending view of a chain.
#[derive(Clone)]
pub struct Chain {
    pub spec: ChainSpec,
    pub header: Header,
    pub accounts: HashMap<Address, Account>,
    pub codes: HashMap<B256, Bytecode>,
    /// Storage of the contract with the attributes of L1, on an OP chain.
    pub l1_attributes: BTreeMap<U256, U256>,
    pub preconfirmed: HashSet<B256>,
}

impl StateReader for Chain {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.accounts.get(address).copied())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let value = self.l1_attributes.get(slot).filter(|_| *address == L1_ATTRIBUTES_CONTRACT);
        Ok(value.copied().unwrap_or_default())
    }

    fn account_storage(&self, _: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(Box::new(NoStorage))
    }

    fn has_storage(&self, _: &Address) -> Result<bool, StateError> {
        Ok(false)
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode(*hash))
    }
}

impl PendingHead for Chain {
    fn state(&self) -> &dyn StateReader {
        self
    }

    fn is_preconfirmed(&self, hash: &B256) -> bool {
        self.preconfirmed.contains(hash)
    }

    fn optimism(&self) -> Option<OptimismHead> {
        let gas_limit = self.header.gas_limit;
        self.spec.optimism().map(|rules| OptimismHead { fork: rules.fork(), gas_limit })
    }
}

impl Chain {
    /// Creates the development chain without accounts, base fee 1 gwei.
    pub fn new() -> Self {
        Self::from_spec(ChainSpec::new(Self::genesis()).unwrap())
    }

    /// Creates an OP chain like the development chain, whose L1 has no fees yet.
    pub fn optimism() -> Self {
        let genesis = optimism_genesis(Self::genesis(), OptimismFork::Karst);
        Self::from_spec(ChainSpec::new(genesis).unwrap())
    }

    fn genesis() -> Genesis {
        let settings = DevGenesis {
            chain_id: DEV_CHAIN_ID,
            gas_limit: DEV_GAS_LIMIT,
            timestamp: 1_700_000_000,
            accounts: Vec::new(),
            balance: U256::ZERO,
        };
        dev_genesis(&settings)
    }

    pub fn from_spec(spec: ChainSpec) -> Self {
        let header = spec.genesis_header(B256::ZERO);
        Self {
            spec,
            header,
            accounts: HashMap::new(),
            codes: HashMap::new(),
            l1_attributes: BTreeMap::new(),
            preconfirmed: HashSet::new(),
        }
    }

    /// Sets the balance of a key's account (wei).
    pub fn fund(&mut self, key: &Key, balance: u128) {
        self.accounts.entry(key.address).or_default().balance = U256::from(balance);
    }

    pub fn set_nonce(&mut self, key: &Key, nonce: u64) {
        self.accounts.entry(key.address).or_default().nonce = nonce;
    }

    pub fn set_code(&mut self, key: &Key, code: Bytecode) {
        let hash = code.hash_slow();
        self.codes.insert(hash, code);
        self.accounts.entry(key.address).or_default().code_hash = hash;
    }

    pub fn decode(&self, pool: &Pool, raw: &[u8]) -> Result<CheckedTransaction, PoolError> {
        decode_submission(raw, &pool.rules(&self.spec, &self.header))
    }

    /// Runs both phases of admission.
    pub fn submit(&self, pool: &Pool, raw: &[u8]) -> Result<AddedTransaction, PoolError> {
        pool.add(self.decode(pool, raw)?, || self)
    }

    /// Reports a step that included `transactions` to the pool, with the current accounts.
    pub fn step(&self, pool: &Pool, transactions: &[&[u8]]) -> Vec<foreseal_pool::Dropped> {
        let included: Vec<_> =
            transactions.iter().map(|raw| Arc::new(Transaction::decode(raw).unwrap())).collect();
        pool.on_step(&included, &self.diff())
    }

    /// Returns every account as a diff.
    pub fn diff(&self) -> StateDiff {
        let mut accounts: Vec<_> = self
            .accounts
            .iter()
            .map(|(address, account)| ChangedAccount {
                address: *address,
                diff: AccountDiff { account: Some(*account), ..AccountDiff::default() },
            })
            .collect();
        if !self.l1_attributes.is_empty() {
            let storage = self.l1_attributes.iter().map(|(slot, word)| (*slot, *word)).collect();
            let account = Some(Account { nonce: 1, ..Account::default() });
            let diff = AccountDiff { account, storage, ..AccountDiff::default() };
            accounts.push(ChangedAccount { address: L1_ATTRIBUTES_CONTRACT, diff });
        }
        accounts.sort_by_key(|changed| changed.address);
        StateDiff { accounts, codes: Vec::new() }
    }
}

pub fn pool() -> Pool {
    Pool::new(PoolConfig::default())
}

/// A secret key and its address.
#[derive(Clone, Copy)]
pub struct Key {
    secret: B256,
    pub address: Address,
}

impl Key {
    pub fn new(seed: u64) -> Self {
        let secret = keccak256(seed.to_be_bytes());
        let signature = sign_message(secret, B256::ZERO).unwrap();
        Self { secret, address: recover_signer(&signature, B256::ZERO).unwrap() }
    }

    pub fn sign(&self, hash: B256) -> Signature {
        sign_message(self.secret, hash).unwrap()
    }

    /// Signs and encodes a transaction.
    pub fn raw<T: SignableTransaction<Signature>>(&self, transaction: T) -> Vec<u8>
    where
        EthereumTxEnvelope<TxEip4844>: From<alloy_consensus::Signed<T>>,
    {
        let signature = self.sign(transaction.signature_hash());
        EthereumTxEnvelope::from(transaction.into_signed(signature)).encoded_2718()
    }

    /// Returns a transfer of zero wei with EIP-1559 fees (wei per gas).
    pub fn dynamic(&self, nonce: u64, max_fee: u128, tip: u128) -> Vec<u8> {
        self.raw(TxEip1559 { max_fee_per_gas: max_fee, max_priority_fee_per_gas: tip, ..transfer(nonce) })
    }

    /// Returns a transfer of zero wei with a gas price (wei per gas).
    pub fn legacy(&self, nonce: u64, gas_price: u128) -> Vec<u8> {
        self.raw(TxLegacy {
            chain_id: Some(DEV_CHAIN_ID),
            nonce,
            gas_price,
            gas_limit: 21_000,
            to: TxKind::Call(Address::ZERO),
            value: U256::ZERO,
            input: Bytes::new(),
        })
    }

    /// Returns a transfer like `legacy`, with an empty access list (EIP-2930).
    pub fn access_list(&self, nonce: u64, gas_price: u128) -> Vec<u8> {
        self.raw(TxEip2930 {
            chain_id: DEV_CHAIN_ID,
            nonce,
            gas_price,
            gas_limit: 21_000,
            to: TxKind::Call(Address::ZERO),
            ..TxEip2930::default()
        })
    }
}

/// Returns the nonces of pooled transactions.
pub fn nonces(transactions: &[Arc<PooledTransaction>]) -> Vec<u64> {
    transactions.iter().map(|transaction| transaction.nonce()).collect()
}

/// Returns an unsigned transfer of zero wei as a template.
pub fn transfer(nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: DEV_CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: TxKind::Call(Address::ZERO),
        ..TxEip1559::default()
    }
}

/// Returns a key with a thousand ether, and its chain.
pub fn rich(seed: u64) -> (Chain, Key) {
    let (mut chain, key) = (Chain::new(), Key::new(seed));
    chain.fund(&key, 1_000 * GWEI * GWEI);
    assert_eq!(chain.accounts[&key.address].code_hash, KECCAK256_EMPTY);
    (chain, key)
}
