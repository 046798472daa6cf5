//! What was ever shown: a plain list, kept apart from the node. It knows no trie, no journal and no store.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use foreseal_node::{Executed, View};
use foreseal_types::Receipt;

/// `Err` says what was broken.
pub type Check = Result<(), String>;

/// A transaction as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    pub hash: B256,
    pub sender: Address,
    pub nonce: u64,
    /// Of everything that its receipt says.
    receipt: u64,
}

/// A block as it was shown, sealed or being built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    pub parent: B256,
    pub timestamp: u64,
    /// Of each step the hash, and how many transactions there are by then.
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
    fn read(view: &View, executed: &Executed, sealed: bool) -> Result<Self, String> {
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

    /// Number, step and hash, for people.
    pub fn name(&self) -> String {
        let hash = self.steps.last().map(|step| step.0).unwrap_or_default();
        let sealed = if self.sealed { " sealed" } else { "" };
        format!("{}.{}{sealed} {}", self.number, self.steps.len() - 1, &hash.to_string()[..10])
    }

    /// Whether all of `before` is still there, in its place.
    fn keeps(&self, before: &Self) -> Check {
        let kept = self.number == before.number
            && self.parent == before.parent
            && self.timestamp == before.timestamp
            && self.steps.starts_with(&before.steps)
            && self.transactions.starts_with(&before.transactions);
        if kept {
            Ok(())
        } else {
            Err(format!("block {} was shown and is now {}", before.name(), self.name()))
        }
    }
}

/// Blocks after genesis, the last one being built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub blocks: Vec<Block>,
}

/// How a chain must go on.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Least seconds between blocks.
    pub apart: u64,
    /// A block is sealed as it was shown last.
    pub sealed_as_shown: bool,
}

fn block(view: &View, number: u64) -> Result<Block, String> {
    let sealed = number <= view.latest().number();
    let found = view.at(number).map_err(|error| format!("block {number}: {error}"))?;
    let found = found.ok_or_else(|| format!("block {number} is lost"))?;
    Block::read(view, &found, sealed)
}

impl Ledger {
    /// The block being built.
    pub fn pending(&self) -> Option<&Block> {
        self.blocks.last()
    }

    /// Sees that the newest shown block is where it was, and notes what came after it.
    pub fn follow(&mut self, view: &View, rules: Rules) -> Check {
        let pending = view.pending().number();
        if pending != view.latest().number() + 1 {
            return Err(format!("pending is block {pending}, latest is {}", view.latest().number()));
        }
        if let Some(last) = self.blocks.pop() {
            let now = block(view, last.number)?;
            now.keeps(&last)?;
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

    /// Sees that everything that was ever shown is there, and notes what came after it.
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

    /// Every sender's transactions are there once, in order, from the first on.
    pub fn check_nonces(&self) -> Check {
        let mut next: HashMap<Address, u64> = HashMap::new();
        for included in self.blocks.iter().flat_map(|block| &block.transactions) {
            let nonce = next.entry(included.sender).or_default();
            if included.nonce != *nonce {
                let Included { hash, sender, nonce: found, .. } = included;
                return Err(format!("transaction {hash} of {sender} has nonce {found}, not {nonce}"));
            }
            *nonce += 1;
        }
        Ok(())
    }

    /// Whether a step of block `number` has this hash.
    pub fn holds(&self, number: u64, hash: B256) -> bool {
        let block = self.blocks.iter().find(|block| block.number == number);
        block.is_some_and(|block| block.steps.iter().any(|step| step.0 == hash))
    }

    /// What it was when sealed block `number` was the newest one, without the one being built.
    pub fn back_to(&self, number: u64) -> Self {
        Self { blocks: self.blocks.iter().take_while(|block| block.number <= number).cloned().collect() }
    }

    /// Steps and sealed blocks.
    pub fn size(&self) -> (u64, u64) {
        let steps = self.blocks.iter().map(|block| block.steps.len() as u64).sum();
        (steps, self.blocks.iter().filter(|block| block.sealed).count() as u64)
    }

    /// Appends of the journal that lead from `before` to this: each a step of a block, or a seal with an opening.
    pub fn appends_since(&self, before: &Self) -> u64 {
        self.size().0.saturating_sub(before.size().0)
    }

    /// Whether `other` is what this was once.
    pub fn began_as(&self, other: &Self) -> bool {
        let Some((last, sealed)) = other.blocks.split_last() else { return true };
        let now = self.blocks.get(sealed.len());
        self.blocks.starts_with(sealed) && now.is_some_and(|now| now.keeps(last).is_ok())
    }

    /// Whether `other` is this ledger, or what it was before its last append.
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
