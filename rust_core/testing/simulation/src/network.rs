//! Events between the sequencer and its followers.

use rand::{SeedableRng, rngs::StdRng};

use crate::{
    feed::{Feed, FeedEnvironment},
    follower::SubmissionOutcome,
    ledger::Check,
    network_event::NetworkEvent,
    pipe::FrameFault,
    readers::{Client, HeldView},
    run::Run,
    senders::TransactionSpec,
    submission_kind::SubmissionKind,
    world::CrashScope,
};

/// Maximum number of rounds until a follower has caught up. It suffices for two connections, as the cursor of
/// the first may be gone.
const BOUND: u64 = 16;

impl Run {
    pub fn network(&mut self, network: NetworkEvent) -> Check {
        if self.feed.slots.is_empty() {
            return Ok(());
        }
        let slots = self.feed.slots.len();
        match network {
            NetworkEvent::Rounds { rounds, chance } => {
                let mut random = StdRng::seed_from_u64(chance);
                (0..rounds).try_for_each(|_| self.feed_round(&mut random, false))
            }
            NetworkEvent::TimeOut => {
                self.feed.time_out();
                self.feed.counts.fault("heartbeat missing for too long");
                Ok(())
            }
            NetworkEvent::Kill { at, retained } => {
                if self.feed.slots[at % slots].follower.is_some() {
                    self.feed.end(at % slots, retained);
                    self.feed.counts.fault("follower killed");
                }
                Ok(())
            }
            NetworkEvent::Crash { at, point, after } => {
                if let Some(follower) = &self.feed.slots[at % slots].follower {
                    follower.watch.arm(point, after, CrashScope::Process);
                }
                Ok(())
            }
            NetworkEvent::Cut { at, retained, reset } => {
                self.cut(at % slots, retained, reset);
                Ok(())
            }
            NetworkEvent::Silence { at, down, up } => {
                self.fall_silent(at % slots, down, up);
                Ok(())
            }
            NetworkEvent::FrameFault { at, how, chance } => {
                self.mangle(at % slots, how, chance);
                Ok(())
            }
            NetworkEvent::Slow { at, rounds } => {
                self.feed.slots[at % slots].slow = rounds;
                self.feed.counts.fault("slow follower");
                Ok(())
            }
            NetworkEvent::Submit { at, submission, sender, chance } => {
                self.submit_there(at % slots, submission, sender, chance)
            }
            NetworkEvent::Hold { at, chance } => self.hold_there(at % slots, chance),
            NetworkEvent::Poll { at } => self.poll_follower(at % slots),
            NetworkEvent::Follow { at } => self.follow_there(at % slots),
        }
    }

    /// Runs one round of [`Feed::round`] and records the outcomes of submissions.
    pub fn feed_round(&mut self, random: &mut StdRng, all: bool) -> Check {
        self.with_followers(|feed, world| feed.round(world, random, all))?;
        self.answered();
        Ok(())
    }

    /// Calls `act` with the followers and their environment.
    pub fn with_followers<T>(
        &mut self,
        act: impl FnOnce(&mut Feed, &FeedEnvironment<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let sequencer = self.process.as_ref().map(|process| &process.node);
        let world = FeedEnvironment {
            sequencer,
            settings: &self.settings,
            clocks: &self.clocks,
            disk: &self.disk,
            fault_plan: &self.fault_plan,
            empty: sequencer.is_some_and(|node| matches!(node.store().head(), Ok(None))),
            trimmed: self.is_trimmed(),
        };
        let done = act(&mut self.feed, &world);
        for line in std::mem::take(&mut self.feed.notes) {
            self.trace(&line);
        }
        done
    }

    /// Records the outcomes of submissions through followers.
    fn answered(&mut self) {
        for at in 0..self.feed.slots.len() {
            for (sent, what) in std::mem::take(&mut self.feed.slots[at].answered) {
                self.feed.counts.answered += 1;
                match what {
                    SubmissionOutcome::Accepted => self.senders.record_accepted(&sent.raw, sent.hash),
                    SubmissionOutcome::Unknown => {
                        let there = self.process.as_ref().is_some_and(|process| {
                            let view = process.node.view();
                            let shown = view.and_then(|view| view.transaction(&sent.hash).ok().flatten());
                            process.node.pool().contains(&sent.hash) || shown.is_some()
                        });
                        self.senders.mark_uncertain(sent.hash);
                        self.feed.counts.fault(if there {
                            "connection ends after a submission is admitted"
                        } else {
                            "connection ends before a submission is admitted"
                        });
                    }
                    SubmissionOutcome::Away => {
                        self.feed.counts.fault("connection ends before a submission is sent");
                    }
                    SubmissionOutcome::Rejected => {}
                }
            }
        }
    }

    fn cut(&mut self, at: usize, retained: [u64; 2], reset: bool) {
        let Some(connection) = &self.feed.slots[at].connection else { return };
        let share = |pipe: &crate::pipe::Pipe, chance: u64| {
            usize::try_from(chance % (pipe.in_flight() as u64 + 1)).unwrap_or(0)
        };
        let (down, up) = (share(&connection.down, retained[0]), share(&connection.up, retained[1]));
        let cut = (connection.down.cut(down, reset), connection.up.cut(up, reset));
        self.feed.counts.fault(match cut {
            (true, _) => "connection cut within a frame to the follower",
            (false, true) => "connection cut within a frame to the sequencer",
            _ => "connection cut between frames",
        });
    }

    fn fall_silent(&mut self, at: usize, down: bool, up: bool) {
        let Some(connection) = &self.feed.slots[at].connection else { return };
        if down {
            connection.down.fall_silent();
        }
        if up {
            connection.up.fall_silent();
        }
        self.feed.counts.fault(match (down, up) {
            (true, true) => "half-open connection: both directions silent",
            (true, false) => "half-open connection: follower receives nothing",
            _ => "half-open connection: sequencer receives nothing",
        });
    }

    fn mangle(&mut self, at: usize, how: FrameFault, chance: u64) {
        let Some(connection) = &self.feed.slots[at].connection else { return };
        if connection.down.mangle(how, chance) {
            self.feed.counts.fault(match how {
                FrameFault::Twice => "frame duplicated",
                FrameFault::Swap => "frames reordered",
                FrameFault::Lose => "frame lost",
            });
        }
    }

    /// Submits through a follower, with the next nonce according to its view and pool.
    fn submit_there(&mut self, at: usize, submission: SubmissionKind, sender: usize, chance: u64) -> Check {
        let address = self.senders.address(sender);
        let Some(follower) = &mut self.feed.slots[at].follower else { return Ok(()) };
        let Some(view) = follower.node.view() else { return Ok(()) };
        // A view from before an unwind may no longer be readable.
        let Ok(account) = foreseal_state::StateReader::account(&view.pending().state, &address) else {
            return Ok(());
        };
        let next = follower.node.pool().next_nonce(&address, account.map_or(0, |account| account.nonce));
        let order =
            TransactionSpec { wallet: sender, nonce: next, kind: chance % 11, tip: 1 + chance / 11 % 3 };
        let raw = match submission {
            SubmissionKind::Gap => self.senders.sign(TransactionSpec { nonce: next + 2, ..order }),
            SubmissionKind::Again => match self.senders.any_accepted(chance) {
                Some(raw) => raw.clone(),
                None => return Ok(()),
            },
            _ => self.senders.sign(order),
        };
        follower.send(&raw, chance.is_multiple_of(5))?;
        Ok(())
    }

    fn hold_there(&mut self, at: usize, chance: u64) -> Check {
        let (unwinds, accounts) = (self.unwinds, self.senders.addresses());
        let level = self.is_level(at)?;
        let slot = &mut self.feed.slots[at];
        let Some(view) = slot.follower.as_ref().and_then(|follower| follower.node.view()) else {
            return Ok(());
        };
        if level {
            slot.held.truncate(3);
            slot.held.insert(0, HeldView::load(view, unwinds, chance, &accounts)?);
        }
        Ok(())
    }

    fn poll_follower(&mut self, at: usize) -> Check {
        let accounts = self.senders.addresses();
        for held in &self.feed.slots[at].held {
            held.check(self.unwinds, &accounts)?;
            self.counts.held_views += 1;
        }
        self.feed.slots[at].held.pop();
        Ok(())
    }

    /// Returns `true` if a follower is at the same place of the chain as the sequencer.
    fn is_level(&self, at: usize) -> Result<bool, String> {
        let sequencer = self.node()?;
        let Some(follower) = &self.feed.slots[at].follower else { return Ok(false) };
        let same = follower.follows.next() == sequencer.appends() && follower.follows.is_live();
        Ok(same && follower.node.view().map(|view| view.cursor()) == Some(self.view()?.cursor()))
    }

    fn follow_there(&mut self, at: usize) -> Check {
        if !self.is_level(at)? {
            return Ok(());
        }
        let available = (!self.written, self.is_trimmed());
        let slot = &mut self.feed.slots[at];
        let Some(view) = slot.follower.as_ref().and_then(|follower| follower.node.view()) else {
            return Ok(());
        };
        let client = slot.client.get_or_insert_with(|| Client::new(&self.ledger, &view));
        let before = client.changes;
        client
            .follow(&view, &self.ledger, available)
            .map_err(|what| format!("through a follower, {what}"))?;
        self.counts.changes += client.changes - before;
        Ok(())
    }

    /// Checks that every follower soon equals the sequencer, including the pool, once faults have stopped.
    pub fn catch_up(&mut self) -> Check {
        if self.feed.slots.is_empty() {
            return Ok(());
        }
        // A follower starts from the store.
        self.node()?.write_store();
        self.come_level()
    }

    /// Performs the check of [`Self::catch_up`] without writing the store first.
    pub fn come_level(&mut self) -> Check {
        self.feed.time_out();
        let mut random = StdRng::seed_from_u64(self.setup.seed);
        let accounts = self.senders.addresses();
        for slot in &self.feed.slots {
            if let Some(follower) = &slot.follower {
                follower.watch.disarm();
            }
        }
        for at in 0..self.feed.slots.len() {
            let mut differs = None;
            for round in 0..=BOUND {
                let node = self.node()?;
                let follower = self.feed.slots[at].follower.as_ref();
                differs = match follower {
                    Some(follower) => follower.differs(node, &accounts)?,
                    None => Some("there is none".to_owned()),
                };
                if differs.is_none() || round == BOUND {
                    break;
                }
                self.feed_round(&mut random, true)?;
            }
            if let Some(what) = differs {
                return Err(format!("after {BOUND} rounds follower {at} has not caught up: {what}"));
            }
            self.follow_there(at)?;
            self.poll_follower(at)?;
        }
        Ok(())
    }
}
