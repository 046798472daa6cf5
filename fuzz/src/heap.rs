//! How much memory a piece of work takes.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator, which counts what each thread asks for.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes that this thread has taken and not given back. Below zero where it gave back what others took.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
}

/// What some work asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes at once, beyond those that were there before.
    pub peak: usize,
    /// Bytes in all, whether they were given back or not: what works through its input again and again shows here.
    pub total: usize,
}

/// Does some work on this thread; what it asked for. Work that it hands to other threads is not seen.
pub fn usage(work: impl FnOnce()) -> Usage {
    let before = LIVE.get();
    PEAK.set(before);
    TOTAL.set(0);
    work();
    Usage { peak: PEAK.get().saturating_sub(before).unsigned_abs(), total: TOTAL.get() }
}

fn took(bytes: usize) {
    // A thread that ends has no counters any more.
    let _ = LIVE.try_with(|live| {
        live.set(live.get().saturating_add_unsigned(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
    let _ = TOTAL.try_with(|total| total.set(total.get().saturating_add(bytes)));
}

fn gave(bytes: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub_unsigned(bytes)));
}

// SAFETY: every call is passed on as it is; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        gave(layout.size());
        took(size);
        // SAFETY: as above.
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
