//! Snapshots of a development chain (`evm_snapshot`, `evm_revert`).

use foreseal_state::BlockHashes;

use crate::{
    clock::slot::BlockSlot,
    development::{dev_snapshots::DevSnapshot, development_control::DevelopmentControl},
    errors::production_error::ControlError,
    settings::mining::Mining,
};

impl DevelopmentControl<'_> {
    /// Takes a snapshot of the step, the pool and the time. Returns its number.
    pub fn snapshot(&mut self) -> Result<u64, ControlError> {
        self.developing()?;
        self.producing()?;
        let max = self.producer.settings.development.map_or(0, |development| development.snapshots);
        if u64::try_from(self.snapshots.kept.len()).is_ok_and(|kept| kept >= max) {
            return Err(ControlError::TooMany { what: "snapshots", max });
        }
        let latest = self.producer.writer.chain.latest();
        let snapshot = DevSnapshot {
            latest: (latest.number(), latest.block.hash),
            steps: self.producer.writer.chain.open_steps(),
            finality: self.producer.writer.chain.finality(),
            time: self.producer.writer.now().unix,
            pool: self.producer.writer.shared.pool.snapshot(),
            fixed: self.producer.fixed,
            later_blocks: (self.producer.settings.production.clone(), self.producer.timestamp_interval),
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
        let later_blocks = (self.producer.settings.production.clone(), self.producer.timestamp_interval);
        let done = self.go_to(&snapshot);
        if done.is_err() {
            (self.producer.settings.production, self.producer.timestamp_interval) = later_blocks;
            taken.insert(number, snapshot);
            self.snapshots.kept.append(&mut taken);
        }
        done
    }

    fn go_to(&mut self, snapshot: &DevSnapshot) -> Result<bool, ControlError> {
        let (latest, hash) = snapshot.latest;
        if latest > self.producer.writer.chain.latest().number()
            || self.producer.writer.chain.hashes().block_hash(latest)? != Some(hash)
        {
            return Ok(false);
        }
        let time = i64::try_from(snapshot.time.as_millis()).unwrap_or(i64::MAX);
        let wall =
            i64::try_from(self.producer.writer.shared.clock.now().unix.as_millis()).unwrap_or(i64::MAX);
        let mut draft = self.producer.draft();
        if !self.is_at(snapshot) {
            draft = self.producer.back_to(latest)?;
            for step in &snapshot.steps {
                draft.repeat(step)?;
            }
        }
        draft.set_finality(snapshot.finality);
        (self.producer.settings.production, self.producer.timestamp_interval) = snapshot.later_blocks.clone();
        draft.set_clock(time.saturating_sub(wall));
        let has_steps = draft.chain.open_block().is_some_and(|open| open.index() > 0);
        if self.producer.mining == Mining::Automatic && has_steps {
            let now = self.producer.writer.shared.clock.now().shifted(draft.chain.clock_offset());
            self.producer.seal_and_open_in(&mut draft, now)?;
        }
        self.producer.restore(draft, &snapshot.pool)?;
        self.producer.fixed = snapshot.fixed;
        let timestamp = self.producer.writer.chain.open_block().map_or(0, |open| open.header().timestamp);
        self.producer.slot = Some(BlockSlot::with_timestamp(
            self.producer.writer.now(),
            timestamp,
            self.producer.mining.block_time(),
        ));
        Ok(true)
    }

    fn is_at(&self, snapshot: &DevSnapshot) -> bool {
        let now = self.producer.writer.chain.open_block().map(|open| (open.index(), open.hash()));
        let then = snapshot.steps.last().map(|last| (last.step.index, last.step.hash));
        self.producer.writer.chain.latest().block.hash == snapshot.latest.1 && now == then
    }
}
