//! Measurement of the memory that a closure allocates.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator with a count of the bytes that each thread allocates.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes that this thread has allocated and not freed. Negative if it freed memory of other threads.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
}

/// Memory that a closure allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Maximum of the live bytes, above those that were live at the start.
    pub peak: usize,
    /// Total of all allocated bytes, freed or not. It reveals code that processes its input repeatedly.
    pub total: usize,
}

/// Runs `work` on this thread and returns the memory that it allocated. Allocations of other threads are not
/// counted.
pub fn usage(work: impl FnOnce()) -> Usage {
    let before = LIVE.get();
    PEAK.set(before);
    TOTAL.set(0);
    work();
    Usage { peak: PEAK.get().saturating_sub(before).unsigned_abs(), total: TOTAL.get() }
}

fn took(bytes: usize) {
    // While a thread ends, its counters may already be destroyed.
    let _ = LIVE.try_with(|live| {
        live.set(live.get().saturating_add_unsigned(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
    let _ = TOTAL.try_with(|total| total.set(total.get().saturating_add(bytes)));
}

fn gave(bytes: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub_unsigned(bytes)));
}

// SAFETY: every call is forwarded unchanged to the system's allocator; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        gave(layout.size());
        took(size);
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn what_is_taken_is_counted_whether_it_is_given_back_or_not() {
        let used = usage(|| {
            for _ in 0..10 {
                black_box(Vec::<u8>::with_capacity(1000));
            }
        });
        assert_eq!(used, Usage { peak: 1000, total: 10_000 });
        let mut kept = Vec::new();
        let used = usage(|| kept = black_box(vec![0_u8; 500]));
        assert_eq!((used.peak, kept.len()), (500, 500));
    }
}
