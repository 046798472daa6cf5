//! List of everything that was published. It is independent of the node: it uses no trie, no journal and no
//! store.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use foreseal_chain::{ExecutedBlock, View};
use foreseal_primitives::Receipt;

/// Result of a check; `Err` describes the violated property.
pub type Check = Result<(), String>;

/// A transaction as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    pub hash: B256,
    pub sender: Address,
    pub nonce: u64,
    /// Hash of the content of its receipt.
    receipt: u64,
}

/// A block as it was published, sealed or pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    pub parent: B256,
    pub timestamp: u64,
    /// For each step, its hash and the number of transactions in the block up to and including it.
    pub steps: Vec<(B256, usize)>,
    pub transactions: Vec<Included>,
    pub sealed: bool,
}

fn receipt(receipt: &Receipt) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Receipt { kind, cumulative_gas_used, logs, gas_used, contract_address, .. } = receipt;
    (kind, cumulative_gas_used, logs, gas_used, contract_address).hash(&mut hasher);
    receipt.status.coerce_status().hash(&mut hasher);
    hasher.finish()
}

impl Block {
    fn read(view: &View, executed: &ExecutedBlock, sealed: bool) -> Result<Self, String> {
        let block = &executed.block;
        if block.hash != block.header.hash_slow() {
            return Err(format!("block {}: its hash is not that of its header", executed.number()));
        }
        let included = |at: usize| {
            let transaction = &block.transactions[at];
            let (sender, nonce) = (transaction.sender(), transaction.envelope().nonce());
            Included { hash: transaction.hash(), sender, nonce, receipt: receipt(&block.receipts[at]) }
        };
        let steps = view.steps(executed).map_err(|error| format!("steps: {error}"))?;
        let read = Self {
            number: executed.number(),
            parent: block.header.parent_hash,
            timestamp: block.header.timestamp,
            steps: steps.iter().map(|step| (step.hash, step.transactions)).collect(),
            transactions: (0..block.transactions.len()).map(included).collect(),
            sealed,
        };
        if read.steps.last() != Some(&(block.hash, block.transactions.len())) {
            return Err(format!("block {}: its last step is not the block as it stands", read.number));
        }
        Ok(read)
    }

    /// Returns number, step and shortened hash, for messages.
    pub fn name(&self) -> String {
        let hash = self.steps.last().map(|step| step.0).unwrap_or_default();
        let sealed = if self.sealed { " sealed" } else { "" };
        format!("{}.{}{sealed} {}", self.number, self.steps.len() - 1, &hash.to_string()[..10])
    }

    /// Checks that the block extends `before` without changing it.
    fn extends(&self, before: &Self) -> Check {
        let preserved = self.number == before.number
            && self.parent == before.parent
            && self.timestamp == before.timestamp
            && self.steps.starts_with(&before.steps)
            && self.transactions.starts_with(&before.transactions);
        if preserved {
            Ok(())
        } else {
            Err(format!("block {} was shown and is now {}", before.name(), self.name()))
        }
    }
}

/// Blocks after genesis; the last one is pending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub blocks: Vec<Block>,
}

/// Rules for the continuation of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Minimum number of seconds between the timestamps of blocks.
    pub apart: u64,
    /// `true` if a block must be sealed in the form in which it was last published.
    pub sealed_as_shown: bool,
}

fn block(view: &View, number: u64) -> Result<Block, String> {
    let sealed = number <= view.latest().number();
    let block = view.at(number).map_err(|error| format!("block {number}: {error}"))?;
    let block = block.ok_or_else(|| format!("block {number} is lost"))?;
    Block::read(view, &block, sealed)
}

impl Ledger {
    /// Returns the pending block.
    pub fn pending(&self) -> Option<&Block> {
        self.blocks.last()
    }

    /// Checks that `view` extends the newest published block, and records the blocks after it.
    pub fn follow(&mut self, view: &View, rules: Rules) -> Check {
        let pending = view.pending().number();
        if pending != view.latest().number() + 1 {
            return Err(format!("pending is block {pending}, latest is {}", view.latest().number()));
        }
        if let Some(last) = self.blocks.pop() {
            let now = block(view, last.number)?;
            now.extends(&last)?;
            if rules.sealed_as_shown && now.sealed && now.steps != last.steps {
                return Err(format!("block {} is sealed as {}", last.name(), now.name()));
            }
            self.blocks.push(now);
        }
        for number in self.blocks.len() as u64 + 1..=pending {
            let next = block(view, number)?;
            if let Some(before) = self.blocks.last() {
                let parent = before.steps.last().map(|step| step.0);
                if Some(next.parent) != parent {
                    return Err(format!("block {} does not follow {}", next.name(), before.name()));
                }
                if next.timestamp < before.timestamp + rules.apart {
                    return Err(format!(
                        "block {} has timestamp {}, its parent {}",
                        next.name(),
                        next.timestamp,
                        before.timestamp
                    ));
                }
            }
            self.blocks.push(next);
        }
        Ok(())
    }

    /// Checks that `view` contains everything that was ever published, and records what follows it.
    pub fn survive(&mut self, view: &View, rules: Rules) -> Check {
        if let Some((_, sealed)) = self.blocks.split_last() {
            for shown in sealed {
                let now = block(view, shown.number)?;
                if now != *shown {
                    return Err(format!("block {} was shown and is now {}", shown.name(), now.name()));
                }
            }
        }
        self.follow(view, rules)?;
        self.check_nonces()
    }

    /// Checks that the nonces of every sender count up from 0 without gaps or repetitions.
    pub fn check_nonces(&self) -> Check {
        let mut next: HashMap<Address, u64> = HashMap::new();
        for included in self.blocks.iter().flat_map(|block| &block.transactions) {
            let nonce = next.entry(included.sender).or_default();
            if included.nonce != *nonce {
                let Included { hash, sender, nonce: used, .. } = included;
                return Err(format!("transaction {hash} of {sender} has nonce {used}, not {nonce}"));
            }
            *nonce += 1;
        }
        Ok(())
    }

    /// Returns `true` if a step of block `number` has this hash.
    pub fn holds(&self, number: u64, hash: B256) -> bool {
        let block = self.blocks.iter().find(|block| block.number == number);
        block.is_some_and(|block| block.steps.iter().any(|step| step.0 == hash))
    }

    /// Returns the blocks up to `number`, without any pending block after it.
    pub fn back_to(&self, number: u64) -> Self {
        Self { blocks: self.blocks.iter().take_while(|block| block.number <= number).cloned().collect() }
    }

    /// Returns the number of steps and of sealed blocks.
    pub fn size(&self) -> (u64, u64) {
        let steps = self.blocks.iter().map(|block| block.steps.len() as u64).sum();
        (steps, self.blocks.iter().filter(|block| block.sealed).count() as u64)
    }

    /// Returns the number of journal appends between `before` and this ledger. Each append is a step of a
    /// block, or a seal together with the opening of the next block.
    pub fn appends_since(&self, before: &Self) -> u64 {
        self.size().0.saturating_sub(before.size().0)
    }

    /// Returns `true` if `other` is an earlier state of this ledger.
    pub fn began_as(&self, other: &Self) -> bool {
        let Some((last, sealed)) = other.blocks.split_last() else { return true };
        let now = self.blocks.get(sealed.len());
        self.blocks.starts_with(sealed) && now.is_some_and(|now| now.extends(last).is_ok())
    }

    /// Returns `true` if `other` is this ledger, or its state before the last append.
    pub fn is_or_was(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let mut before = self.clone();
        let Some(last) = before.blocks.last_mut() else { return false };
        last.steps.pop();
        if let Some(&(_, transactions)) = last.steps.last() {
            last.transactions.truncate(transactions);
        } else {
            before.blocks.pop();
            if let Some(open) = before.blocks.last_mut() {
                open.sealed = false;
            }
        }
        before == *other
    }
}
