//! Start and end of the node's process.

use std::sync::Arc;

use foreseal_chain::{Chain, Clock, datadir::stored_spec, replay};
use foreseal_journal::{Identity, JournalOptions, LocalJournal};
use foreseal_node::NodeError;
use foreseal_replication::PoolStart;
use foreseal_simulated_disk::DiskFault;
use rand::{SeedableRng, rngs::StdRng};

use crate::{
    action::ProcessEnd,
    damage,
    ledger::{Check, Ledger, Rules},
    node_setup::{StartOutcome, open},
    run::{Process, Run},
    timing,
    world::{NodeProbe, OperationClass},
};

impl Run {
    /// Starts the next process. The chain that it publishes is not checked yet.
    pub fn start(&mut self) -> Result<StartOutcome, String> {
        let began = self.clocks.now();
        self.fault_plan().drain_struck();
        let started = self.try_start()?;
        let struck = self.fault_plan().drain_struck();
        match started {
            Ok(()) => {}
            Err(error) if struck => return Ok(StartOutcome::No(error.to_string())),
            Err(error) => return Err(format!("the node does not start: {error}")),
        }
        let now = self.clocks.now();
        let age = self.node()?.age();
        self.time.ticked = now.monotonic.checked_sub(age).ok_or("an age beyond the start")?;
        if self.time.ticked < began.monotonic {
            return Err(format!("after a start the age is {age:?}"));
        }
        Ok(StartOutcome::Yes)
    }

    /// Starts the next process like [`Self::start`], without checks. The inner result is that of the node.
    pub fn try_start(&mut self) -> Result<Result<(), NodeError>, String> {
        let followed = self.setup.followers > 0;
        let published = followed.then(|| self.feed.published.clone());
        let watch = NodeProbe::new(self.disk.clone(), self.fault_plan.clone()).publishing(published);
        let watch = Arc::new(watch);
        let node = open(&self.settings, self.clocks.clone(), self.disk.clone(), self.mixes.clone())
            .map_err(|error| format!("a process does not open its data directory: {error}"))?;
        let node = Arc::new(node);
        let started = if followed {
            node.start_manual(watch.clone(), self.feed.ring)
        } else {
            node.start_watched(watch.clone())
        };
        match started {
            Ok(Some(producer)) => {
                watch.begin(&node);
                self.process = Some(Process { node, producer, watch });
                Ok(Ok(()))
            }
            Ok(None) => Err("a node that produces has no producer".to_owned()),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Ends the process and starts the next one, optionally with a fault during the start.
    pub fn restart(
        &mut self,
        ending: ProcessEnd,
        fault: Option<(OperationClass, u32, DiskFault)>,
        damaged: Option<u64>,
    ) -> Check {
        // A running, healthy node has no append in progress: every earlier call has returned.
        let in_flight = !self.is_up() || self.node()?.status().healthy(std::time::Duration::MAX).is_err();
        // A store failure stops production only at the next tick.
        let broken = in_flight || self.store_failed()?;
        let pooled = self.end(ending, broken)?;
        let copy = match damaged {
            Some(chance) if !self.setup.development => Some((damage::Copy::new(self)?, chance)),
            _ => None,
        };
        self.fault_plan().clear();
        if let Some((class, after, fault)) = fault {
            self.fault_plan().arm(class, after, fault);
        }
        let mut random = StdRng::seed_from_u64(self.counts.acts);
        // Followers continue to serve reads while the sequencer is down.
        self.feed_round(&mut random, false)?;
        let mut tries = 0;
        let mut pooled = Some(pooled).filter(|_| ending == ProcessEnd::Stop && !broken);
        let began = loop {
            let began = self.clocks.now();
            if let StartOutcome::No(why) = self.start()? {
                self.trace(&format!("  does not start: {why}"));
            } else if self.is_up() {
                break began;
            }
            // The failed start may already have consumed the saved pool.
            pooled = None;
            tries += 1;
            if tries > 2 {
                return Err("the node does not start in fair weather".to_owned());
            }
            self.fault_plan().clear();
            self.lose(ending);
        };
        self.check_survival(in_flight || tries > 0, began)?;
        self.check_pool(pooled)?;
        match copy {
            Some((copy, chance)) => copy.check(self, chance),
            None => Ok(()),
        }
    }

    /// Ends the process. Returns the number of transactions in its pool.
    pub fn end(&mut self, ending: ProcessEnd, broken: bool) -> Result<usize, String> {
        let counts = self.node()?.pool().counts();
        if ending == ProcessEnd::Stop && !broken {
            self.fault_plan().clear();
            self.process()?.watch.disarm();
            self.node()?.save().map_err(|error| format!("a clean stop: {error}"))?;
        }
        self.lose(ending);
        self.counts.restarts += 1;
        Ok(counts.pooled + counts.queued)
    }

    fn lose(&mut self, ending: ProcessEnd) {
        self.release_views();
        self.snapshots.clear();
        let mut random =
            StdRng::seed_from_u64(self.setup.seed ^ self.counts.acts << 8 ^ self.counts.restarts);
        self.feed.sequencer_ends(&mut random);
        if matches!(ending, ProcessEnd::PowerLoss(_)) {
            self.feed.machine_ends();
        }
        self.process = None;
        match ending {
            ProcessEnd::Stop | ProcessEnd::Kill => {
                self.disk.kill();
                self.fault_plan().counts.fault("process killed");
            }
            ProcessEnd::PowerLoss(seed) => {
                if self.disk.is_down() && self.fault_plan().was_writing() {
                    self.fault_plan().counts.fault("torn write");
                }
                self.disk.lose_power(seed);
                self.fault_plan().counts.fault("power lost");
            }
        }
    }

    /// Checks that everything ever published exists, and beyond it at most the one append that was in
    /// progress.
    fn check_survival(&mut self, in_flight: bool, began: foreseal_chain::ClockReading) -> Check {
        let (view, rules) = (self.view()?, Run::rules());
        let instead = self.instead.take().filter(|_| in_flight);
        let bases = std::iter::once((self.ledger.clone(), true)).chain(instead.map(|base| (base, false)));
        let mut first = None;
        for (base, sealed_as_shown) in bases {
            let mut ledger = base.clone();
            match ledger.survive(&view, Rules { sealed_as_shown, ..rules }) {
                Ok(()) => {
                    let appends = ledger.appends_since(&base);
                    if !self.setup.development && appends > u64::from(in_flight) {
                        return Err(format!("{appends} appends are there that were never shown"));
                    }
                    return self.go_on(ledger, began);
                }
                Err(what) => {
                    first.get_or_insert(what);
                }
            }
        }
        Err(format!("after a restart, {}", first.unwrap_or_default()))
    }

    /// Continues after a start with `ledger` as the published chain.
    pub fn go_on(&mut self, ledger: Ledger, began: foreseal_chain::ClockReading) -> Check {
        // Time at which the first view was created; the clocks may have moved since the start began.
        let now = foreseal_chain::ClockReading {
            unix: began.unix + self.time.ticked.saturating_sub(began.monotonic),
            monotonic: self.time.ticked,
        };
        if !self.setup.development {
            // A block that was never published was opened by the interrupted tick.
            self.check_opened(&ledger, self.time.fixed.unwrap_or(now))?;
            let timestamp = ledger.pending().map_or(0, |open| open.timestamp);
            self.time.due = timing::due(now, timestamp, self.setup.block_time);
        }
        self.time.fixed = None;
        self.ledger = ledger;
        self.check_age()
    }

    /// Checks the pool after a start: a clean stop preserves it, any other end may lose it, and the status
    /// reports which.
    fn check_pool(&self, pooled: Option<usize>) -> Check {
        let (start, counts) = (self.node()?.status().pool_start, self.node()?.pool().counts());
        match (pooled, start) {
            (Some(pooled), PoolStart::Restored(_)) if counts.pooled + counts.queued == pooled => Ok(()),
            (None, PoolStart::New | PoolStart::LostInCrash | PoolStart::Restored(_)) => Ok(()),
            (pooled, start) => Err(format!(
                "of {pooled:?} transactions {} are in the pool after a restart: {start:?}",
                counts.pooled + counts.queued
            )),
        }
    }

    /// Checks that a replay of the journal alone produces the same chain, unless the journal was trimmed.
    pub fn replay_all(&mut self) -> Check {
        let view = self.view()?;
        let genesis = view.sealed(0).ok().flatten().ok_or("no genesis")?.block.hash;
        let identity = Identity { chain_id: view.spec().chain_id(), genesis };
        let options = JournalOptions { identity, segment_bytes: self.setup.segment_bytes, entropy: [0; 32] };
        let disk = Arc::new(self.disk.fork());
        let (journal, _) = LocalJournal::open(&self.settings.datadir.join("journal"), disk, options)
            .map_err(|error| format!("the journal of a running node: {error}"))?;
        if journal.first_sequence() > 0 {
            return Ok(());
        }
        let spec = stored_spec(&self.settings.datadir).map_err(|error| error.to_string())?;
        let mut chain = Chain::new(Arc::new(spec.ok_or("no genesis file")?), self.settings.finality);
        for append in journal.replay().map_err(|error| error.to_string())? {
            for record in append.map_err(|error| error.to_string())?.records {
                replay(&mut chain, 0, &record).map_err(|error| error.to_string())?;
            }
        }
        let replayed = chain.view().ok_or("the journal ends without a block being built")?;
        let mut ledger = Ledger::default();
        ledger.survive(&replayed, Run::rules())?;
        if ledger == self.ledger { Ok(()) } else { Err("a replay makes another chain".to_owned()) }
    }
}
