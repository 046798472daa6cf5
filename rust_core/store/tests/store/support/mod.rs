//! Random chains whose blocks have correct roots, without execution.

pub mod damage;
pub mod dump;
pub mod process;

use std::sync::Arc;

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Eip658Value, Header, proofs::calculate_ommers_root};
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_primitives::{
    Address, B256, Bloom, Bytes, FixedBytes, KECCAK256_EMPTY, Log, TxKind, U256, keccak256,
};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{
    Account, AccountDiff, Block, ChangedAccount, NewCode, Receipt, StateDiff, Transaction, length_in_block,
};
use foreseal_state::{State, StateChanges};
use foreseal_store::{SealedBlock, StoreOptions, StoredStep};
use foreseal_testkit::{Fees, Wallet};
use foreseal_trie::ordered_trie_root;
use imbl::Vector;
use rand::{Rng, SeedableRng, rngs::StdRng};

pub const CHAIN_ID: u64 = 31_337;

/// Maximum sizes of the random blocks.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub transactions: usize,
    pub accounts: usize,
    pub slots: usize,
}

impl Size {
    pub const SMALL: Self = Self { transactions: 6, accounts: 6, slots: 5 };
}

/// A sealed block with the state after it.
#[derive(Clone)]
pub struct Made {
    pub sealed: SealedBlock,
    pub state: State,
}

impl Made {
    pub fn number(&self) -> u64 {
        self.sealed.block.header.number
    }

    pub fn hash(&self) -> B256 {
        self.sealed.block.hash
    }
}

/// Generator of chains; equal seeds yield equal chains.
pub struct Maker {
    pub random: StdRng,
    wallets: Vec<Wallet>,
    sent: u64,
    size: Size,
}

impl Maker {
    pub fn new(seed: u64, size: Size) -> Self {
        Self { random: StdRng::seed_from_u64(seed), wallets: Wallet::some(4), sent: 0, size }
    }

    /// Returns the options of a store for a chain that begins with `genesis`.
    pub fn options(genesis: &Made) -> StoreOptions {
        StoreOptions { map_size: 1 << 30, ..StoreOptions::new(CHAIN_ID, genesis.hash()) }
    }

    pub fn genesis(&mut self) -> Made {
        let mut diff = self.diff();
        diff.accounts.iter_mut().for_each(|changed| {
            changed.diff.wiped = false;
            changed.diff.account.get_or_insert_default();
        });
        let state = State::default().apply(&diff).unwrap();
        let nodes = state.changes_since(&State::default()).unwrap();
        let header = Header {
            state_root: state.root(),
            base_fee_per_gas: Some(7),
            withdrawals_root: Some(ordered_trie_root([])),
            ..Header::default()
        };
        let block = Block {
            hash: header.hash_slow(),
            header,
            transactions: Vector::new(),
            receipts: Vector::new(),
            uncles: Vec::new(),
            withdrawals: Some(Withdrawals::default()),
            transactions_length: 0,
        };
        let (diff, writer_metadata) = (Arc::new(diff), self.bytes(20));
        let sealed =
            SealedBlock { block, steps: Vec::new(), diff, nodes, journal_sequence: 0, writer_metadata };
        Made { sealed, state }
    }

    /// Returns a chain of `count` blocks after `parent`.
    pub fn chain(&mut self, parent: &Made, count: usize) -> Vec<Made> {
        let mut made: Vec<Made> = Vec::with_capacity(count);
        for _ in 0..count {
            let next = self.next(made.last().unwrap_or(parent));
            made.push(next);
        }
        made
    }

    /// Returns a random block after `parent`.
    pub fn next(&mut self, parent: &Made) -> Made {
        let diff = self.diff();
        let state = parent.state.apply(&diff).unwrap();
        let nodes = state.changes_since(&parent.state).unwrap();
        let count = self.random.random_range(0..=self.size.transactions);
        let transactions: Vec<_> = (0..count).map(|_| Arc::new(self.transaction())).collect();
        let receipts = self.receipts(&transactions);
        let uncles = self.uncles();
        let withdrawals = self.random.random_bool(0.8).then(|| self.withdrawals());
        let header = Header {
            parent_hash: parent.hash(),
            number: parent.number() + 1,
            timestamp: parent.sealed.block.header.timestamp + self.random.random_range(1..20),
            difficulty: U256::from(self.random.random_range(0..3_u64)),
            gas_limit: 30_000_000,
            base_fee_per_gas: Some(self.random.random_range(0..1_000)),
            beneficiary: self.address(),
            extra_data: self.bytes(32),
            state_root: state.root(),
            ommers_hash: if uncles.is_empty() {
                EMPTY_OMMER_ROOT_HASH
            } else {
                calculate_ommers_root(&uncles)
            },
            withdrawals_root: withdrawals.as_ref().map(|list| {
                ordered_trie_root(list.iter().map(|withdrawal| alloy_rlp::encode(withdrawal).into()))
            }),
            ..Header::default()
        };
        let block = Block {
            header,
            hash: B256::ZERO,
            transactions: transactions.into(),
            receipts: receipts.into(),
            uncles,
            withdrawals,
            transactions_length: 0,
        };
        let full = cut(&block, block.transactions.len());
        let steps = self.steps(&full);
        let sequence = parent.sealed.journal_sequence + 1 + steps.len() as u64;
        let (diff, writer_metadata) = (Arc::new(diff), self.bytes(20));
        let sealed =
            SealedBlock { block: full, steps, diff, nodes, journal_sequence: sequence, writer_metadata };
        Made { sealed, state }
    }

    fn steps(&mut self, block: &Block) -> Vec<StoredStep> {
        let Some(count) = self.random.random_bool(0.9).then(|| block.transactions.len()) else {
            return Vec::new();
        };
        let mut cuts: Vec<usize> =
            (0..=count).filter(|at| *at == 0 || *at == count || self.random.random_bool(0.5)).collect();
        cuts.dedup();
        let written = Arc::new(self.diff());
        let step = |at: usize| {
            let block = cut(block, at);
            StoredStep {
                transactions: u32::try_from(at).unwrap(),
                transactions_length: block.transactions_length as u64,
                time: block.header.timestamp * 1_000 + at as u64,
                written: (at % 3 == 2).then(|| written.clone()),
                signature: (at % 2 == 1).then(|| FixedBytes::right_padding_from(block.hash.as_slice())),
                hash: block.hash,
                header: block.header,
            }
        };
        cuts.into_iter().map(step).collect()
    }

    fn address(&mut self) -> Address {
        Address::new(self.random.random())
    }

    fn bytes(&mut self, most: usize) -> Bytes {
        let length = self.random.random_range(0..=most);
        (0..length).map(|_| self.random.random::<u8>()).collect()
    }

    fn transaction(&mut self) -> Transaction {
        let at = self.random.random_range(0..self.wallets.len());
        let nonce = self.sent;
        self.sent += 1;
        let (to, input) = (TxKind::Call(self.address()), self.bytes(200));
        let (value, wallet) = (U256::from(self.random.random::<u64>()), &self.wallets[at]);
        let encoded = match self.random.random_range(0..4) {
            0 => wallet.legacy(nonce, to, value, 100_000, input, 7),
            1 => wallet.eip2930(nonce, TxKind::Create, value, 100_000, input, 7),
            2 => wallet.eip1559(nonce, to, value, 100_000, input, Fees::default()),
            _ => wallet.set_code(nonce, &self.wallets[(at + 1) % 4], 5, self.wallets[0].address),
        };
        Transaction::decode(&encoded).unwrap()
    }

    fn receipts(&mut self, transactions: &[Arc<Transaction>]) -> Vec<Arc<Receipt>> {
        let (mut gas, mut first_log_index) = (0, 0);
        let mut receipts = Vec::new();
        for transaction in transactions {
            let logs: Vec<Log> = (0..self.random.random_range(0..4)).map(|_| self.log()).collect();
            let gas_used = self.random.random_range(21_000..100_000);
            gas += gas_used;
            let status = match (transaction.kind(), self.random.random_range(0..4)) {
                (0, 0) => Eip658Value::PostState(B256::new(self.random.random())),
                (_, roll) => Eip658Value::Eip658(roll > 1),
            };
            let contract_address = self.random.random_bool(0.2).then(|| self.address());
            let (bloom, kind) = (logs_bloom(&logs), transaction.kind());
            let count = logs.len() as u64;
            receipts.push(Arc::new(Receipt {
                kind,
                status,
                cumulative_gas_used: gas,
                logs,
                bloom,
                gas_used,
                contract_address,
                first_log_index,
                deposit_nonce: None,
            }));
            first_log_index += count;
        }
        receipts
    }

    /// Returns a random log with up to four topics, most of them from a few values.
    fn log(&mut self) -> Log {
        let topics = (0..self.random.random_range(0..5)).map(|_| {
            let few = self.random.random_range(0..6_u8);
            if few == 0 { B256::new(self.random.random()) } else { B256::with_last_byte(few) }
        });
        let topics = topics.collect();
        let address = Address::with_last_byte(self.random.random_range(0..5));
        Log::new_unchecked(address, topics, self.bytes(100))
    }

    fn uncles(&mut self) -> Vec<Header> {
        let count = if self.random.random_bool(0.2) { self.random.random_range(1..3) } else { 0 };
        let header = |random: &mut StdRng| Header { number: random.random(), ..Header::default() };
        (0..count).map(|_| header(&mut self.random)).collect()
    }

    fn withdrawals(&mut self) -> Withdrawals {
        let count = self.random.random_range(0..3);
        let withdrawal = |random: &mut StdRng| Withdrawal {
            index: random.random(),
            validator_index: random.random(),
            address: Address::new(random.random()),
            amount: random.random(),
        };
        Withdrawals::new((0..count).map(|_| withdrawal(&mut self.random)).collect())
    }

    /// Returns changes of few accounts with few slots, so that blocks overlap.
    /// Some accounts are destroyed or created over.
    pub fn diff(&mut self) -> StateDiff {
        let count = self.random.random_range(0..=self.size.accounts);
        let mut diff = StateDiff::default();
        for _ in 0..count {
            let (change, code) = self.account_diff();
            let address = Address::left_padding_from(&[self.random.random_range(0..40)]);
            diff.accounts.push(ChangedAccount { address, diff: change });
            diff.codes.extend(code);
        }
        diff.accounts.sort_by_key(|changed| changed.address);
        diff.accounts.dedup_by_key(|changed| changed.address);
        diff.codes.sort_by_key(|code| code.hash);
        diff.codes.dedup_by_key(|code| code.hash);
        diff
    }

    fn account_diff(&mut self) -> (AccountDiff, Option<NewCode>) {
        if self.random.random_bool(0.1) {
            return (AccountDiff { account: None, wiped: true, storage: Vec::new() }, None);
        }
        let code: Option<Bytes> =
            self.random.random_bool(0.3).then(|| vec![0x60, self.random.random_range(0..9_u8)].into());
        let code = code.map(|code| NewCode { hash: keccak256(&code), code });
        let account = Account {
            nonce: self.random.random_range(0..1_000),
            balance: U256::from(self.random.random::<u128>()),
            code_hash: code.as_ref().map_or(KECCAK256_EMPTY, |code| code.hash),
        };
        let slots = self.random.random_range(0..=self.size.slots);
        let mut storage: Vec<(U256, U256)> = (0..slots).map(|_| self.slot()).collect();
        storage.sort_unstable_by_key(|(slot, _)| *slot);
        storage.dedup_by_key(|(slot, _)| *slot);
        let wiped = self.random.random_bool(0.1);
        (AccountDiff { account: Some(account), wiped, storage }, code)
    }

    fn slot(&mut self) -> (U256, U256) {
        let slot = U256::from(self.random.random_range(0..30_u64));
        let value = if self.random.random_bool(0.3) { 0 } else { self.random.random_range(1..u64::MAX) };
        (slot, U256::from(value))
    }
}

/// Returns the block after its first `count` transactions.
fn cut(block: &Block, count: usize) -> Block {
    let transactions = block.transactions.take(count);
    let receipts = block.receipts.take(count);
    let encoded = |receipt: &Arc<Receipt>| {
        let mut out = Vec::new();
        receipt.encode_2718(&mut out);
        Bytes::from(out)
    };
    let header = Header {
        transactions_root: ordered_trie_root(transactions.iter().map(|t| t.encoded().clone())),
        receipts_root: ordered_trie_root(receipts.iter().map(encoded)),
        logs_bloom: receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom),
        gas_used: receipts.last().map_or(0, |receipt| receipt.cumulative_gas_used),
        ..block.header.clone()
    };
    Block {
        hash: header.hash_slow(),
        header,
        transactions_length: transactions.iter().map(|transaction| length_in_block(transaction)).sum(),
        transactions,
        receipts,
        uncles: block.uncles.clone(),
        withdrawals: block.withdrawals.clone(),
    }
}

/// Returns the parts that are written to the store.
pub fn sealed(made: &[Made]) -> Vec<SealedBlock> {
    made.iter().map(|made| made.sealed.clone()).collect()
}

/// Returns the blocks after `head` for a write with the nodes of the newest one alone.
pub fn sealed_with_newest_nodes(head: &Made, made: &[Made]) -> Vec<SealedBlock> {
    let mut blocks = sealed(made);
    for block in &mut *blocks {
        block.nodes = StateChanges::default();
    }
    if let (Some(block), Some(newest)) = (blocks.last_mut(), made.last()) {
        block.nodes = newest.state.changes_since(&head.state).unwrap();
    }
    blocks
}
