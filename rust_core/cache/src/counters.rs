//! Counters that threads rarely share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of stripes: a thread counts in one of them, so that cores do not contend for one cache line.
const STRIPES: usize = 16;

/// Counters of hits and misses. Counting is one relaxed addition.
#[derive(Debug, Default)]
pub(crate) struct Counters([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(64))]
struct Stripe {
    hits: AtomicU64,
    misses: AtomicU64,
}

thread_local! {
    static STRIPE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES
    };
}

impl Counters {
    pub fn count(&self, hit: bool) {
        let Stripe { hits, misses } = &self.0[STRIPE.with(|stripe| *stripe)];
        if hit { hits } else { misses }.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the numbers of hits and misses.
    pub fn totals(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(hits, misses), stripe| {
            (hits + stripe.hits.load(Ordering::Relaxed), misses + stripe.misses.load(Ordering::Relaxed))
        })
    }
}
