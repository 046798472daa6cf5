//! Processor time and priority of the current thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time that the current thread has used.
pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Raises the nice value of the current thread to `nice`. Logs a warning if the system does not allow it. Only Linux
/// has a priority for each thread; elsewhere nothing changes.
pub fn lower_priority(nice: i32) {
    // Without a process id, Linux sets the priority of the calling thread.
    #[cfg(target_os = "linux")]
    if rustix::process::setpriority_process(None, nice).is_err() {
        tracing::warn!(nice, "failed to lower the priority of a thread");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}
