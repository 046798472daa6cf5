//! Accounts of a development chain: all of them for a dump of its state, and others that a dump has.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, Bytes, U256};
use foreseal_chain::datadir::stored_spec;
use foreseal_journal::{Append, Record};
use foreseal_primitives::{Change, Override, StateDiff};
use foreseal_state::StateReader;

use crate::{development::development_control::DevelopmentControl, errors::production_error::ControlError};

/// Maximum number of changes that a dump may make: each is a step.
const MAX_CHANGES: usize = 10_000;

/// An account with its code and its storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpedAccount {
    pub nonce: u64,
    /// Wei.
    pub balance: U256,
    pub code: Bytes,
    /// Slots that are not zero.
    pub storage: BTreeMap<U256, U256>,
}

/// Addresses, each with the slots that may have a value.
type TouchedSlots = BTreeMap<Address, BTreeSet<U256>>;

impl DevelopmentControl<'_> {
    /// Returns all accounts of the block being built.
    ///
    /// # Errors
    /// The state has only hashes of addresses, which are therefore read from the genesis and the journal. Returns an
    /// error if the journal does not begin with block 1, or has imported blocks.
    pub fn dump_accounts(&self) -> Result<BTreeMap<Address, DumpedAccount>, ControlError> {
        self.developing()?;
        self.producing()?;
        let Some(open) = self.producer.writer.chain.open_block() else {
            return Err(ControlError::NotProducing);
        };
        let state = open.state();
        let mut accounts = BTreeMap::new();
        for (address, slots) in self.touched_slots()? {
            let Some(account) = state.account(&address)? else { continue };
            let mut dumped =
                DumpedAccount { nonce: account.nonce, balance: account.balance, ..Default::default() };
            dumped.code = state.code(&account.code_hash)?.original_bytes();
            for slot in slots {
                let value = state.storage(&address, &slot)?;
                if !value.is_zero() {
                    dumped.storage.insert(slot, value);
                }
            }
            accounts.insert(address, dumped);
        }
        Ok(accounts)
    }

    /// Writes accounts to the block being built. Other accounts, and other slots of these, stay.
    pub fn load_accounts(&mut self, accounts: &BTreeMap<Address, DumpedAccount>) -> Result<(), ControlError> {
        let changes: Vec<_> =
            accounts.iter().flat_map(|(address, account)| changes_of(*address, account)).collect();
        if changes.len() > MAX_CHANGES {
            return Err(ControlError::TooMany { what: "changes by a dump", max: MAX_CHANGES as u64 });
        }
        self.write_all(&changes)
    }

    fn touched_slots(&self) -> Result<TouchedSlots, ControlError> {
        let refused = |reason: String| ControlError::Refused(reason);
        let mut touched = TouchedSlots::new();
        let genesis =
            stored_spec(&self.producer.settings.datadir).map_err(|error| refused(error.to_string()))?;
        for (address, account) in genesis.iter().flat_map(|spec| &spec.genesis().alloc) {
            let slots = account.storage.iter().flatten().map(|(slot, _)| U256::from_be_bytes(slot.0));
            touched.entry(*address).or_default().extend(slots);
        }
        if self.producer.writer.local_journal().first_sequence() > 0 {
            return Err(refused("the journal no longer has the first blocks".to_owned()));
        }
        let next = self.producer.writer.next_sequence();
        let mut has_imports = false;
        let mut visit = |append: Append| {
            for record in append.records {
                match record {
                    Record::Step(step) | Record::Override { step, .. } => {
                        add(&mut touched, &step.diff);
                        add(&mut touched, &step.end_of_block_diff);
                    }
                    Record::Import { .. } => has_imports = true,
                    _ => {}
                }
            }
        };
        let reader = self.producer.writer.local_journal().reader().up_to(next);
        reader.read(&(0..next).collect(), &mut visit).map_err(|error| refused(error.to_string()))?;
        if has_imports {
            return Err(refused("the chain has imported blocks, whose addresses are unknown".to_owned()));
        }
        Ok(touched)
    }
}

fn add(touched: &mut TouchedSlots, diff: &StateDiff) {
    for changed in &diff.accounts {
        let slots = changed.diff.storage.iter().map(|(slot, _)| *slot);
        touched.entry(changed.address).or_default().extend(slots);
    }
}

fn changes_of(address: Address, account: &DumpedAccount) -> impl Iterator<Item = Override> + '_ {
    let fields =
        [Change::Balance(account.balance), Change::Nonce(account.nonce), Change::Code(account.code.clone())];
    let slots = account.storage.iter().map(|(slot, value)| Change::Slot { slot: *slot, value: *value });
    fields.into_iter().chain(slots).map(move |change| Override { address, change })
}
