//! Counts of what a simulation tried.

use std::collections::BTreeMap;

use serde::Serialize;

/// Number of occurrences of each event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub seeds: u64,
    pub acts: u64,
    /// Published steps, including opened blocks.
    pub steps: u64,
    pub sealed_blocks: u64,
    pub restarts: u64,
    /// Repeated reads of held views.
    pub held_views: u64,
    /// Changes of the feed that subscribers applied.
    pub changes: u64,
    /// Started processes of followers. `connections` counts their connections.
    pub followers: u64,
    pub connections: u64,
    /// Frames that followers received, including ends of connections. The view of the follower is checked
    /// after each.
    pub frames: u64,
    /// Submissions through followers that got a response or lost their connection.
    pub answered: u64,
    pub faults: BTreeMap<&'static str, u64>,
    pub crashes: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub fn crash(&mut self, place: &'static str) {
        *self.crashes.entry(place).or_default() += 1;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.acts += other.acts;
        self.steps += other.steps;
        self.sealed_blocks += other.sealed_blocks;
        self.restarts += other.restarts;
        self.held_views += other.held_views;
        self.changes += other.changes;
        self.followers += other.followers;
        self.connections += other.connections;
        self.frames += other.frames;
        self.answered += other.answered;
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for (place, count) in &other.crashes {
            *self.crashes.entry(place).or_default() += count;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seeds, acts, steps, sealed_blocks, restarts, held_views, changes, .. } = self;
        let Self { followers, connections, frames, answered, faults, crashes, .. } = self;
        writeln!(
            f,
            "{seeds} seeds: {acts} actions, {steps} steps, {sealed_blocks} sealed blocks, {restarts} restarts, \
             {held_views} held views read again, {changes} changes followed; {followers} followers, \
             {connections} connections, {frames} frames, {answered} submissions answered through them"
        )?;
        for (what, counts) in [("faults", faults), ("crashes", crashes)] {
            writeln!(f, "{} {what}:", counts.values().sum::<u64>())?;
            for (name, count) in counts {
                writeln!(f, "  {count:>8}  {name}")?;
            }
        }
        Ok(())
    }
}
