//! Priorities of threads.

/// Raises the nice value of the calling thread to `nice`. Only Linux has a priority for each thread; elsewhere nothing
/// changes.
pub(crate) fn lower_priority(nice: i32) {
    #[cfg(target_os = "linux")]
    if rustix::process::setpriority_process(None, nice).is_err() {
        tracing::debug!(nice, "cannot lower the priority of a thread");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}
