//! Readers and subscribers of the sequencer.

use crate::{
    ledger::Check,
    readers::{Client, HeldView},
    run::Run,
};

/// Maximum number of views that are held at a time.
const MAX_HELD_VIEWS: usize = 6;

impl Run {
    /// Loads and holds the newest view.
    pub fn hold_view(&mut self, chance: u64) -> Check {
        let held = HeldView::load(self.view()?, self.unwinds, chance, &self.senders.addresses())?;
        if self.held.len() == MAX_HELD_VIEWS {
            self.held.remove(0);
        }
        self.held.push(held);
        Ok(())
    }

    /// Reads all held views again, and releases one.
    pub fn check_views(&mut self, chance: u64) -> Check {
        let accounts = self.senders.addresses();
        for held in &self.held {
            held.check(self.unwinds, &accounts)?;
            self.counts.held_views += 1;
        }
        if !self.held.is_empty() {
            self.held.remove(usize::try_from(chance).unwrap_or(0) % self.held.len());
        }
        Ok(())
    }

    /// Releases all held views when their process ends.
    pub fn release_views(&mut self) {
        self.held.clear();
    }

    /// Lets a subscriber catch up. Adds one first if there are fewer than four.
    pub fn catch_up_subscriber(&mut self, chance: u64) -> Check {
        let view = self.view()?;
        if self.clients.len() < 4 {
            self.clients.push(Client::new(&self.ledger, &view));
        }
        let at = usize::try_from(chance).unwrap_or(0) % self.clients.len();
        let available = (!self.written, self.is_trimmed());
        let before = self.clients[at].changes;
        self.clients[at].follow(&view, &self.ledger, available)?;
        self.counts.changes += self.clients[at].changes - before;
        Ok(())
    }

    /// Returns `true` if the journal has lost its first segment.
    pub fn is_trimmed(&self) -> bool {
        let first = self.settings.datadir.join("journal").join("0000000001.segment");
        !self.disk.files().contains(&first)
    }
}
