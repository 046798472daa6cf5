//! How freed memory is kept.

/// Bytes of one allocation from which on it is mapped by itself, and given back when it is freed.
const MAPPED: libc::c_int = 8 << 20;
/// Bytes that are free at the end of a heap before it gives them back.
const KEPT: libc::c_int = 16 << 20;

/// Heaps of the allocator, whatever the number of threads: what one thread frees serves the others.
const HEAPS: libc::c_int = 2;

/// Lets the allocator keep what large answers leave behind for the next ones. By default it gives back what they free, and
/// every answer of a few hundred kilobytes pays for its pages again: more than what is in them. And bounds in how many places it
/// keeps it: transactions are made by core threads and freed by others.
pub fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes numbers only. What it cannot set stays as it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}
