//! Double of a view: its number, and what it shows.

use crate::sync::{AtomicU64, Ordering};

/// A view with a number.
#[derive(Debug)]
pub struct View {
    pub number: u64,
    pub reorged: Reorged,
    /// Written before the view is published.
    content: AtomicU64,
}

/// Blocks that were reorged before a view.
#[derive(Debug)]
pub struct Reorged;

impl Reorged {
    #[allow(clippy::unused_self)] // the interface of the original
    pub fn count(&self) -> usize {
        0
    }
}

impl View {
    pub fn new(number: u64) -> Self {
        let view = Self { number, reorged: Reorged, content: AtomicU64::new(0) };
        view.content.store(number, Ordering::Relaxed);
        view
    }

    /// Returns the content, which is the number unless the view was published before it was written.
    pub fn content(&self) -> u64 {
        self.content.load(Ordering::Relaxed)
    }

    #[allow(clippy::unused_self)] // the interface of the original
    pub fn bytes_released_since(&self, _: &Self) -> u64 {
        0
    }
}
