//! Losses of a disk that confirmed its writes: changed bits, syncs without effect, a tail that reads as
//! zeros.
//!
//! After every seed, the disk does one of these. Then the node starts with everything that was published, or
//! refuses to start, or neither the recorded end nor the store proves the loss. The evidence is collected
//! before the start.

use foreseal_journal::{JournalError, check, recorded_end};
use foreseal_node::{NodeError, StartError};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    ledger::{Check, Ledger},
    run::Run,
    submission_kind::SubmissionKind,
};

/// Numbers of appends that exist according to other records than the segments.
struct Proofs {
    /// Number in the recorded end of the journal; `None` if it cannot be read.
    mark: Option<u64>,
    /// Number in the store.
    store: u64,
}

/// Damage done by the disk.
enum Damage {
    None,
    /// Syncs returned success without effect.
    LostSyncs,
    /// A bit of this segment changed.
    Segment(u64),
    /// A bit of the recorded end changed; a second copy of the end exists.
    End,
    ZeroedTail,
}

impl Run {
    /// Causes one loss, and checks the next start.
    pub fn lose_acknowledged(&mut self) -> Check {
        let mut random = StdRng::seed_from_u64(self.setup.seed ^ 0x1055);
        let kind = random.random_range(0..5);
        if kind < 3 {
            let lost = random.random_range(1..12);
            self.trace(&format!("the next {lost} syncs lie"));
            self.fault_plan().set_lost(lost);
        }
        for _ in 0..random.random_range(1..6) {
            self.submit(SubmissionKind::Next, random.random_range(0..3), random.random())?;
            let due = self.setup.block_time * 1_000;
            self.tick(if random.random_bool(0.4) { due } else { 200 })?;
            if random.random_bool(0.3) {
                self.node()?.write_store();
            }
            self.feed_round(&mut random, true)?;
        }
        let progress = self.node()?.store().progress().map_err(|error| error.to_string())?;
        let stored =
            if progress.head.is_some_and(|head| head.number > 0) { progress.journal_sequence + 1 } else { 0 };
        let clean = kind >= 3 && random.random_bool(0.5);
        if clean {
            self.node()?.save().map_err(|error| format!("a clean stop: {error}"))?;
        }
        self.end_without(&mut random, kind < 3);
        let damaged = match kind {
            0..3 => Damage::LostSyncs,
            3 => self.flip(&mut random),
            _ if self.zero_the_tail(&mut random) => Damage::ZeroedTail,
            _ => Damage::None,
        };
        let dir = self.settings.datadir.join("journal");
        let mark = recorded_end(&dir, &self.disk).ok().flatten().map(|mark| mark.next);
        let report =
            check(&dir, std::sync::Arc::new(self.disk.clone())).map_err(|error| error.to_string())?;
        let next = report.first_sequence + report.appends;
        let proofs = Proofs { mark, store: stored };
        self.start_after_loss(&proofs, next, &damaged)
    }

    /// Ends the sequencer's process, with `power` by a loss of power that discards unsynced data. Followers
    /// keep running.
    fn end_without(&mut self, random: &mut StdRng, power: bool) {
        self.fault_plan().clear();
        self.release_views();
        self.snapshots.clear();
        self.process = None;
        if power { self.disk.lose_power(random.random()) } else { self.disk.kill() }
    }

    /// Changes a bit of a segment or of the recorded end.
    fn flip(&mut self, random: &mut StdRng) -> Damage {
        let files = self.disk.files();
        let path = &files[random.random_range(0..files.len())];
        let content = self.disk.content(path).unwrap_or_default();
        let used = content.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
        let at = random.random_range(0..used) as u64;
        self.disk.flip(path, at, random.random_range(0..8));
        self.fault_plan().counts.fault("flipped bit");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.trace(&format!("one bit at {at} of {name} is changed"));
        match name.strip_suffix(".segment").and_then(|number| number.parse().ok()) {
            Some(segment) => Damage::Segment(segment),
            None => Damage::End,
        }
    }

    /// Zeroes the end of the used bytes, over all segments.
    fn zero_the_tail(&mut self, random: &mut StdRng) -> bool {
        let is_segment = |path: &std::path::PathBuf| path.extension().is_some_and(|name| name == "segment");
        let used = |content: &[u8]| content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let mut files: Vec<_> = self.disk.files().into_iter().filter(is_segment).collect();
        files.reverse();
        let sizes = files.iter().map(|path| used(&self.disk.content(path).unwrap_or_default()));
        let mut left = sizes.sum::<usize>() * random.random_range(1..=60) / 100;
        for path in files {
            let mut content = self.disk.content(&path).unwrap_or_default();
            let used = used(&content);
            let zeroed = left.min(used);
            content[used - zeroed..used].fill(0);
            left -= zeroed;
            self.disk.set_content(&path, &content);
        }
        self.fault_plan().counts.fault("zeroed tail");
        self.trace("the end of the journal reads as zeros");
        true
    }

    fn start_after_loss(&mut self, proofs: &Proofs, next: u64, damage: &Damage) -> Check {
        match self.try_start()? {
            Err(error) if is_rejection_of(damage, &error) => {
                self.trace(&format!("refused: {error}"));
                self.fault_plan().counts.fault("loss refused at start");
                Ok(())
            }
            Err(error) => Err(format!("after a loss, the start is refused for another reason: {error}")),
            Ok(()) => self.check_started(proofs, next),
        }
    }

    /// Checks a node that started: it has everything, or lacks only appends that no other record on the disk
    /// proves.
    fn check_started(&mut self, proofs: &Proofs, next: u64) -> Check {
        let (view, rules) = (self.view()?, Run::rules());
        if self.ledger.clone().survive(&view, rules).is_ok() {
            self.fault_plan().counts.fault("loss without effect");
            return Ok(());
        }
        let Proofs { mark, store } = proofs;
        if mark.is_some_and(|mark| mark > next) || *store > next {
            return Err(format!(
                "appends before {mark:?} by the recorded end and before {store} by the store are passed over: the journal \
                 ends before {next}"
            ));
        }
        let mut restored = Ledger::default();
        restored.survive(&view, rules)?;
        // The start may have opened a block, which was never published before.
        let opened = restored.blocks.split_last().map(|(_, sealed)| Ledger { blocks: sealed.to_vec() });
        if !self.ledger.began_as(&restored) && !opened.is_some_and(|opened| self.ledger.began_as(&opened)) {
            return Err("what is left is not what was".to_owned());
        }
        self.call_followers(next)
    }

    /// Checks that the node does not serve a follower that has applied more appends. The follower must
    /// turn health red and stop production.
    fn call_followers(&mut self, next: u64) -> Check {
        let node = self.node()?.clone();
        let mut seen = false;
        for slot in &mut self.feed.slots {
            let Some(follower) = &mut slot.follower else { continue };
            if follower.follows.next().is_none_or(|at| at <= next) {
                continue;
            }
            seen = true;
            let hello = follower.follows.greet().map_err(|error| error.to_string())?;
            let greeted = node.serve_manual(&mut &hello[..], Box::new(std::io::sink()));
            if greeted?.run_once().is_ok() {
                return Err("a follower that has seen more is served".to_owned());
            }
        }
        let healthy = node.status().healthy(node.tick_limit());
        match (seen, healthy) {
            (true, Ok(())) => Err("a follower has seen more, and health is green".to_owned()),
            (true, Err(_)) => {
                self.fault_plan().counts.fault("loss proved by a follower");
                let now = foreseal_chain::Clock::now(&*self.clocks);
                let done = self.process()?.producer.tick(now, &mut || true);
                if done.is_ok() {
                    Err("production continues after a contradiction".to_owned())
                } else {
                    Ok(())
                }
            }
            (false, _) => {
                self.fault_plan().counts.fault("loss that no other record proves");
                Ok(())
            }
        }
    }
}

/// Returns `true` if the node may refuse to start with this error after such damage. The error for a changed
/// bit must name its segment or an earlier one.
fn is_rejection_of(damage: &Damage, error: &NodeError) -> bool {
    match damage {
        // The intact copy is read, and the damaged one is rewritten.
        Damage::None | Damage::End => false,
        Damage::LostSyncs | Damage::ZeroedTail => is_loss(error),
        Damage::Segment(segment) => match error {
            NodeError::Journal(
                JournalError::Corrupt { position, .. } | JournalError::Missing { position, .. },
            )
            | NodeError::Start(StartError::Lost { position, .. }) => position.segment <= *segment,
            _ => false,
        },
    }
}

fn is_loss(error: &NodeError) -> bool {
    matches!(
        error,
        NodeError::Journal(
            JournalError::Corrupt { .. }
                | JournalError::Missing { .. }
                | JournalError::OtherHistory { .. }
                | JournalError::EndDamaged { .. }
        ) | NodeError::Start(
            StartError::Lost { .. }
                | StartError::JournalGone { .. }
                | StartError::OtherJournal { .. }
                | StartError::NothingShared { .. }
                | StartError::Gap { .. }
        )
    )
}
