//! Snapshots of a development chain (`evm_snapshot`, `evm_revert`).

use foreseal_state::BlockHashes;

use crate::{
    mining::Mining, production_error::ControlError, sequencer::Sequencer, slot::BlockSlot,
    snapshots::Snapshot,
};

impl Sequencer {
    /// Takes a snapshot of the step, the pool and the time. Returns its number.
    pub fn snapshot(&mut self) -> Result<u64, ControlError> {
        self.developing()?;
        self.producing()?;
        let max = self.settings.development.map_or(0, |development| development.snapshots);
        if u64::try_from(self.snapshots.kept.len()).is_ok_and(|kept| kept >= max) {
            return Err(ControlError::TooMany { what: "snapshots", max });
        }
        let latest = self.chain.latest();
        let snapshot = Snapshot {
            latest: (latest.number(), latest.block.hash),
            steps: self.chain.open_steps(),
            finality: self.chain.finality(),
            time: self.now().unix,
            pool: self.shared.pool.snapshot(),
            fixed: self.fixed,
            later_blocks: (self.settings.production.clone(), self.timestamp_interval),
        };
        let number = self.snapshots.next;
        self.snapshots.next += 1;
        self.snapshots.kept.insert(number, snapshot);
        Ok(number)
    }

    /// Reverts to snapshot `number`, and removes it and all later snapshots. Returns `false` if it does not
    /// exist, or if the chain was reorged below it.
    ///
    /// Restores chain, pool, clock, and what development methods set for later blocks; transactions received since
    /// then are lost. Under automine, the block of the restored steps is sealed at once, and the next tick seals the
    /// pool.
    pub fn revert(&mut self, number: u64) -> Result<bool, ControlError> {
        self.developing()?;
        self.producing()?;
        let mut taken = self.snapshots.remove_from(number);
        let Some(snapshot) = taken.remove(&number) else { return Ok(false) };
        let later_blocks = (self.settings.production.clone(), self.timestamp_interval);
        let done = self.go_to(&snapshot);
        if done.is_err() {
            (self.settings.production, self.timestamp_interval) = later_blocks;
            taken.insert(number, snapshot);
            self.snapshots.kept.append(&mut taken);
        }
        done
    }

    fn go_to(&mut self, snapshot: &Snapshot) -> Result<bool, ControlError> {
        let (latest, hash) = snapshot.latest;
        if latest > self.chain.latest().number() || self.chain.hashes().block_hash(latest)? != Some(hash) {
            return Ok(false);
        }
        let time = i64::try_from(snapshot.time.as_millis()).unwrap_or(i64::MAX);
        let wall = i64::try_from(self.shared.clock.now().unix.as_millis()).unwrap_or(i64::MAX);
        let mut draft = self.draft();
        if !self.is_at(snapshot) {
            draft = self.back_to(latest)?;
            for step in &snapshot.steps {
                draft.repeat(step)?;
            }
        }
        draft.set_finality(snapshot.finality);
        (self.settings.production, self.timestamp_interval) = snapshot.later_blocks.clone();
        draft.set_clock(time.saturating_sub(wall));
        let has_steps = draft.chain.open_block().is_some_and(|open| open.index() > 0);
        if self.mining == Mining::Automatic && has_steps {
            let now = self.shared.clock.now().shifted(draft.chain.clock_offset());
            self.seal_and_open_in(&mut draft, now)?;
        }
        self.restore(draft, &snapshot.pool)?;
        self.fixed = snapshot.fixed;
        let timestamp = self.chain.open_block().map_or(0, |open| open.header().timestamp);
        self.slot = Some(BlockSlot::with_timestamp(self.now(), timestamp, self.mining.block_time()));
        Ok(true)
    }

    fn is_at(&self, snapshot: &Snapshot) -> bool {
        let now = self.chain.open_block().map(|open| (open.index(), open.hash()));
        let then = snapshot.steps.last().map(|last| (last.step.index, last.step.hash));
        self.chain.latest().block.hash == snapshot.latest.1 && now == then
    }
}
