//! Callers of the scheduler.

use std::sync::Arc;
use std::time::Duration;

use foreseal_rate_limit::{CpuQuota, RateLimitTable};
use foreseal_scheduler::{Caller, CpuBudget, Exhausted, Priority};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use crate::rate_limits::PyBuckets;

/// A caller's budget of processor time, in the table that the processes of a node share.
struct SharedCpuBudget {
    table: Arc<RateLimitTable>,
    bucket: u64,
    quota: CpuQuota,
}

impl SharedCpuBudget {
    /// Charges `used` us and returns the us until the budget is positive again, 0 while it is.
    fn charge_table(&self, now: u64, used: u64) -> u64 {
        self.table.charge_cpu(self.bucket, now, &self.quota, used)
    }
}

impl CpuBudget for SharedCpuBudget {
    fn charge(&self, used: Duration) -> Result<(), Exhausted> {
        let used = u64::try_from(used.as_micros()).unwrap_or(u64::MAX);
        match self.charge_table(monotonic_us(), used) {
            0 => Ok(()),
            wait => Err(Exhausted { retry_after: Duration::from_micros(wait) }),
        }
    }
}

/// Returns the time in us of the clock that `time.monotonic_ns` reads.
fn monotonic_us() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

/// A caller of a node: an API key or an address, with a share of the worker threads and a budget of processor
/// time.
///
/// Callers with the same `name` share one place in the fair queue. `cpu_rate` is the processor time that the
/// caller may use, in ms a second; `cpu_burst` is the largest amount at once, in ms. A rate of 0 is no limit.
/// `buckets` holds the budgets of all callers.
///
/// Raises ValueError if the rate exceeds 1,000,000, or the burst is 0 or takes years to fill.
#[pyclass(name = "Caller", module = "foreseal._core", frozen)]
pub struct PyCaller {
    pub caller: Caller,
    budget: Option<Arc<SharedCpuBudget>>,
}

#[pymethods]
impl PyCaller {
    #[new]
    fn new(
        name: &[u8],
        dedicated: bool,
        buckets: &PyBuckets,
        cpu_rate: u64,
        cpu_burst: u64,
    ) -> PyResult<Self> {
        let table = buckets.table.clone();
        let id = table.key(name);
        let budget = if cpu_rate == 0 {
            None
        } else {
            let quota = CpuQuota::new(cpu_rate, cpu_burst).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "a budget cannot have {cpu_rate} ms per second with a burst of {cpu_burst} ms"
                ))
            })?;
            let bucket = table.key(&[b"cpu ", name].concat());
            Some(Arc::new(SharedCpuBudget { table, bucket, quota }))
        };
        let priority = if dedicated { Priority::Dedicated } else { Priority::Public };
        let shared = budget.clone().map(|budget| -> Arc<dyn CpuBudget> { budget });
        Ok(Self { caller: Caller { id, priority, budget: shared }, budget })
    }

    /// Takes `used` us of processor time from the budget, into debt if necessary. Returns 0 while the budget
    /// is positive, otherwise the us until it is. `now` is the us of the clock of `time.monotonic_ns`.
    fn charge(&self, now: u64, used: u64) -> u64 {
        self.budget.as_ref().map_or(0, |budget| budget.charge_table(now, used))
    }
}
