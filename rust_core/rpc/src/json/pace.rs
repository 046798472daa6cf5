//! Rendering in slices.

use foreseal_scheduler::checkpoint;

/// Number of items between two checkpoints.
const SLICE: usize = 64;

/// Iterates over `items` and lets other jobs of the scheduler run in between. A job that must end renders the rest;
/// its next checkpoint reports the end.
pub fn paced<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    items.into_iter().enumerate().map(|(index, item)| {
        if index % SLICE == SLICE - 1 {
            let _ = checkpoint();
        }
        item
    })
}
