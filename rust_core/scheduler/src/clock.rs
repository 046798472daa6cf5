//! Processor time and priority of the current thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that the current thread has used.
pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Raises the nice value of the current thread to `nice`. Logs a warning if the system does not allow it.
pub fn lower_priority(nice: i32) {
    // SAFETY: the call takes no pointers; id 0 means the calling thread (Linux has a nice value per thread).
    let failed = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } != 0;
    if failed {
        tracing::warn!(nice, "failed to lower the priority of a thread");
    }
}
