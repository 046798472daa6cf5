//! The history of the quorum store: who owned the chain when, and which appends exist.

use std::collections::{BTreeMap, HashSet};

use alloy_primitives::B256;
use foreseal_quorum::{Owner, QuorumEntry, QuorumHead, QuorumKeys, QuorumRecord};
use foreseal_simulated_quorum::HistoryEntry;

use crate::ledger::Check;

/// Time without a write of the owner before which no standby may take over, in milliseconds.
const QUIET: u64 = 800;

/// History that the writes to the quorum store make, checked one after the other.
pub struct QuorumHistory {
    keys: QuorumKeys,
    /// Number of writes read so far.
    pub read: usize,
    owner: Option<Owner>,
    head: Option<QuorumHead>,
    /// Time of the last write of owner, beat or head.
    written: u64,
    /// Parts of records that exist or may exist soon.
    parts: BTreeMap<(u64, u32), Vec<u8>>,
    /// Steps of all appends: block, index and hash.
    steps: HashSet<(u64, u64, B256)>,
    transactions: HashSet<B256>,
    pub appends: u64,
    pub large_appends: u64,
    pub trims: u64,
    /// Reasons of the changes of the owner that are not counted yet.
    pub takeovers: Vec<&'static str>,
}

impl QuorumHistory {
    pub fn new(keys: QuorumKeys) -> Self {
        Self {
            keys,
            read: 0,
            owner: None,
            head: None,
            written: 0,
            parts: BTreeMap::new(),
            steps: HashSet::new(),
            transactions: HashSet::new(),
            appends: 0,
            large_appends: 0,
            trims: 0,
            takeovers: Vec::new(),
        }
    }

    /// Returns the sequence number of the next append.
    pub fn next(&self) -> u64 {
        self.head.map_or(0, |head| head.sequence + 1)
    }

    /// Returns name and epoch of the owner, and the number of appends.
    pub fn owner_name(&self) -> String {
        let owner = self.owner.as_ref().map(|owner| format!("{} (epoch {})", owner.name, owner.epoch));
        format!("{} after append {:?}", owner.unwrap_or_default(), self.head.map(|head| head.sequence))
    }

    /// Returns `true` if an append has this step.
    pub fn has_step(&self, number: u64, index: u64, hash: B256) -> bool {
        self.steps.contains(&(number, index, hash))
    }

    /// Reads further writes, executed at `now`.
    pub fn extend(&mut self, entries: &[HistoryEntry], now: u64) -> Check {
        self.read += entries.len();
        entries.iter().try_for_each(|entry| self.read_entry(entry, now))
    }

    fn read_entry(&mut self, entry: &HistoryEntry, now: u64) -> Check {
        let HistoryEntry { key, value, .. } = entry;
        if let Some((sequence, part)) = self.keys.parse_record(key) {
            return self.read_part(sequence, part, value.as_deref());
        }
        let Some(value) = value else { return Ok(()) };
        if *key == self.keys.owner() {
            let owner = serde_json::from_slice(value).map_err(|error| error.to_string())?;
            return self.read_owner(owner, now);
        }
        if *key == self.keys.head() {
            let head = serde_json::from_slice(value).map_err(|error| error.to_string())?;
            return self.read_head(head, now);
        }
        if *key == self.keys.beat() {
            self.written = now;
        }
        Ok(())
    }

    fn read_part(&mut self, sequence: u64, part: u32, value: Option<&[u8]>) -> Check {
        match value {
            None => {
                self.trims += u64::from(self.parts.remove(&(sequence, part)).is_some());
                if self.head.is_some_and(|head| head.sequence == sequence && part < head.parts) {
                    return Err(format!("the record of the head, append {sequence}, is removed"));
                }
                Ok(())
            }
            Some(value) if sequence != self.next() => {
                // A request of the owner that is executed again changes nothing, unless its record was removed.
                let stored = self.parts.get(&(sequence, part));
                if sequence < self.next() && stored.is_none_or(|stored| stored == value) {
                    return Ok(());
                }
                let next = self.next();
                Err(format!("a part of append {sequence} is written, although the next append is {next}"))
            }
            Some(value) => {
                // A standby does not see parts of an append that does not exist yet.
                self.parts.insert((sequence, part), value.to_vec());
                Ok(())
            }
        }
    }

    fn read_owner(&mut self, owner: Owner, now: u64) -> Check {
        if let Some(before) = &self.owner {
            let same = before.run_id == owner.run_id;
            if owner.released && !(same && before.epoch == owner.epoch) {
                return Err(format!("{} releases the chain, but {} owns it", owner.name, before.name));
            }
            if !owner.released && owner.epoch <= before.epoch {
                return Err(format!("epoch {} follows epoch {}", owner.epoch, before.epoch));
            }
            let quiet = now.saturating_sub(self.written);
            if !owner.released && !same && !before.released && quiet < QUIET {
                let Owner { name, .. } = before;
                return Err(format!("{} takes over from {name}, which wrote {quiet} ms ago", owner.name));
            }
        }
        if !owner.released {
            self.takeovers.push(match &self.owner {
                None => "no_owner",
                Some(before) if before.run_id == owner.run_id => "own",
                Some(before) if before.released => "released",
                Some(_) => "no_writes",
            });
        }
        (self.owner, self.written) = (Some(owner), now);
        Ok(())
    }

    fn read_head(&mut self, head: QuorumHead, now: u64) -> Check {
        let QuorumHead { sequence, parts, epoch, .. } = head;
        let owner = self.owner.as_ref().filter(|owner| owner.epoch == epoch && !owner.released);
        if owner.is_none() {
            let owner = self.owner.as_ref().map(|owner| (&owner.name, owner.epoch, owner.released));
            return Err(format!("append {sequence} is of epoch {epoch}, but the owner is {owner:?}"));
        }
        if sequence != self.next() {
            return Err(format!("append {sequence} comes where append {} is due", self.next()));
        }
        let previous = self.head.map_or(B256::ZERO, |head| head.hash);
        let stored = (0..parts).filter_map(|part| self.parts.get(&(sequence, part)));
        let bytes = stored.flatten().copied().collect::<Vec<u8>>();
        let record = QuorumRecord::decode(&bytes).map_err(|error| format!("append {sequence}: {error}"))?;
        if record.link.hash != head.hash || record.link.previous != previous {
            return Err(format!("append {sequence} does not follow the append before it"));
        }
        for entry in &record.entries {
            self.read_record(entry)?;
        }
        self.appends += 1;
        self.large_appends += u64::from(parts > 1);
        (self.head, self.written) = (Some(head), now);
        Ok(())
    }

    fn read_record(&mut self, entry: &QuorumEntry) -> Check {
        let QuorumEntry::Step(step) = entry else { return Ok(()) };
        self.steps.insert((step.number, step.index, step.hash));
        for transaction in &step.transactions {
            if !self.transactions.insert(transaction.hash()) {
                return Err(format!("transaction {} is in the journal twice", transaction.hash()));
            }
        }
        Ok(())
    }
}
