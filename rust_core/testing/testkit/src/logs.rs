//! Chains that contain only logs: no execution and no roots, produced as fast as a store can write them.

use std::sync::Arc;

use alloy_consensus::{Eip658Value, Header};
use alloy_primitives::{Address, B256, Bloom, Log, LogData};
use foreseal_primitives::{Block, Receipt, Transaction};
use imbl::Vector;
use rand::{Rng, rngs::StdRng};

use crate::{Fees, Wallet};

/// Number of distinct transactions; the blocks use them in rotation.
const TRANSACTIONS: u64 = 256;
/// Seconds between blocks.
const BLOCK_TIME: u64 = 2;

/// Returns a receipt with one log without topics that has `bytes` bytes of data.
pub fn receipt_of_size(bytes: usize) -> Receipt {
    Receipt {
        kind: 2,
        status: Eip658Value::success(),
        cumulative_gas_used: 0,
        logs: vec![Log {
            address: Address::ZERO,
            data: LogData::new_unchecked(Vec::new(), vec![0; bytes].into()),
        }],
        bloom: Bloom::ZERO,
        gas_used: 0,
        contract_address: None,
        first_log_index: 0,
        deposit_nonce: None,
    }
}

/// Generator of the blocks of such a chain, genesis first.
pub struct LogChain {
    transactions: Vec<Arc<Transaction>>,
    used: usize,
    parent: B256,
    number: u64,
}

impl Default for LogChain {
    fn default() -> Self {
        let wallet = Wallet::numbered(0);
        let transaction = |nonce| {
            let encoded = wallet.transfer(nonce, wallet.address, 1, Fees::default());
            Arc::new(Transaction::decode(&encoded).expect("a signed transfer decodes"))
        };
        let transactions = (0..TRANSACTIONS).map(transaction).collect();
        Self { transactions, used: 0, parent: B256::ZERO, number: 0 }
    }
}

impl LogChain {
    /// Returns the next block, with one transaction per list of logs. Its bloom filter and its roots do not
    /// match its contents.
    pub fn next(&mut self, lists: Vec<Vec<Log>>) -> Block {
        let header = Header {
            number: self.number,
            parent_hash: self.parent,
            timestamp: self.number * BLOCK_TIME,
            ..Header::default()
        };
        let (mut transactions, mut receipts) = (Vector::new(), Vector::new());
        let mut first_log_index = 0;
        for logs in lists {
            transactions.push_back(self.transactions[self.used % self.transactions.len()].clone());
            self.used += 1;
            let count = logs.len() as u64;
            receipts.push_back(Arc::new(Receipt {
                kind: 2,
                status: Eip658Value::success(),
                cumulative_gas_used: 21_000 * transactions.len() as u64,
                logs,
                bloom: Bloom::ZERO,
                gas_used: 21_000,
                contract_address: None,
                first_log_index,
                deposit_nonce: None,
            }));
            first_log_index += count;
        }
        let hash = header.hash_slow();
        (self.parent, self.number) = (hash, self.number + 1);
        let (uncles, withdrawals) = (Vec::new(), None);
        Block { header, hash, transactions, receipts, uncles, withdrawals, transactions_length: 0 }
    }
}

/// Returns a log with a realistic distribution: few contracts and events account for most logs, and most
/// contracts and accounts are rare.
pub fn skewed_log(random: &mut StdRng) -> Log {
    let contract = skewed(random, 5_000);
    let mut topics = vec![numbered_topic(1, skewed(random, 60))];
    for _ in 0..random.random_range(0..4) {
        topics.push(numbered_topic(2, skewed(random, 50_000)));
    }
    let data = vec![0; random.random_range(0..2) * 32].into();
    Log { address: numbered_contract(contract), data: LogData::new_unchecked(topics, data) }
}

/// Returns the address of a contract that [`skewed_log`] uses; lower numbers are more common.
pub fn numbered_contract(number: u64) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

/// Returns a topic that [`skewed_log`] uses; `kind` 1 is an event, 2 an account.
pub fn numbered_topic(kind: u8, number: u64) -> B256 {
    let mut topic = B256::left_padding_from(&number.to_be_bytes());
    topic.0[0] = kind;
    topic
}

/// Returns a number below `of`; small numbers are far more frequent.
fn skewed(random: &mut StdRng, of: u64) -> u64 {
    let mut number = random.random_range(0..of);
    for _ in 0..3 {
        number = random.random_range(0..=number);
    }
    number
}
