//! Callers of the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foreseal_rate_limit::{CpuQuota, Quota, RateLimitTable};
use foreseal_rpc::{CallerBudget, Refusal};
use foreseal_scheduler::{Caller, CallerCpuBudget, Exhausted, Priority};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use crate::rate_limits::{PyBuckets, quota};

/// A caller's budget of processor time, in the table that the processes of a node share.
struct SharedCallerCpuBudget {
    table: Arc<RateLimitTable>,
    bucket: u64,
    quota: CpuQuota,
}

impl SharedCallerCpuBudget {
    /// Charges `used` us and returns the us until the budget is positive again, 0 while it is.
    fn charge_table(&self, now: u64, used: u64) -> u64 {
        self.table.charge_cpu(self.bucket, now, &self.quota, used)
    }
}

impl CallerCpuBudget for SharedCallerCpuBudget {
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
/// Callers with the same `name` share one place in the fair queue. `cpu_rate` is the processor time that the caller may
/// use, in ms a second; `cpu_burst` is the largest amount at once, in ms. A rate of 0 is no limit. `calls` is the
/// interval in us at which the caller gains a token for its calls, and its largest number of tokens; None is no limit.
/// `buckets` holds the budgets of all callers. At most `max_calls` of its calls are on worker threads; None is no
/// limit. `clock` returns us since an arbitrary moment; without it the clock is that of `time.monotonic_ns`.
///
/// Raises ValueError if the rate exceeds 1,000,000, or a burst is 0 or takes years to fill.
#[pyclass(name = "Caller", module = "foreseal._core", frozen)]
pub struct PyCaller {
    pub caller: Caller,
    budget: Option<Arc<SharedCallerCpuBudget>>,
    calls: Option<SharedTokens>,
    /// Number of its calls that are queued for, or run on, worker threads.
    pub running: Arc<AtomicUsize>,
    /// Most of these calls; `None`: as many as for all callers.
    pub max_calls: Option<usize>,
    /// Clock in us; `None` for that of the machine.
    clock: Option<Py<PyAny>>,
}

/// A caller's tokens for calls, in the table that the processes of a node share.
struct SharedTokens {
    table: Arc<RateLimitTable>,
    bucket: u64,
    quota: Quota,
    burst: u64,
}

impl PyCaller {
    /// Returns the time of its clock in us.
    fn now(&self) -> u64 {
        let Some(clock) = &self.clock else { return monotonic_us() };
        let read = |py: Python<'_>| clock.bind(py).call0()?.extract();
        Python::attach(read).unwrap_or_else(|error: PyErr| panic!("the clock of a caller failed: {error}"))
    }

    /// Takes `used` us of processor time, and returns the us until the budget is positive.
    fn charge_us(&self, now: u64, used: u64) -> u64 {
        self.budget.as_ref().map_or(0, |budget| budget.charge_table(now, used))
    }

    fn cpu_refusal(&self, now: u64) -> Option<Refusal> {
        let wait = self.charge_us(now, 0);
        (wait > 0).then(|| Refusal::Cpu { retry_after: Duration::from_micros(wait) })
    }

    /// Returns the budgets that responses are charged to; `None` for a caller without limits.
    pub fn call_budget(&self) -> Option<&dyn CallerBudget> {
        (self.calls.is_some() || self.budget.is_some()).then_some(self)
    }
}

impl CallerBudget for PyCaller {
    fn refusal(&self) -> Option<Refusal> {
        let now = self.now();
        self.cpu_refusal(now).or_else(|| {
            let calls = self.calls.as_ref()?;
            rate_refusal(calls.table.wait(calls.bucket, now, &calls.quota, 1))
        })
    }

    fn charge(&self, tokens: u64) -> Result<(), Refusal> {
        let now = self.now();
        if let Some(refusal) = self.cpu_refusal(now) {
            return Err(refusal);
        }
        let Some(calls) = &self.calls else { return Ok(()) };
        rate_refusal(calls.table.consume(calls.bucket, now, &calls.quota, tokens)).map_or(Ok(()), Err)
    }

    fn charge_all(&self, tokens: u64) -> bool {
        // A larger cost would be cut to the burst.
        self.calls.as_ref().is_none_or(|calls| tokens <= calls.burst)
            && CallerBudget::charge(self, tokens).is_ok()
    }

    fn charge_cpu(&self, used: Duration) {
        // Most calls take a few us: without rounding, much of their time would be free.
        let used = u64::try_from((used.as_nanos() + 500) / 1000).unwrap_or(u64::MAX);
        self.charge_us(self.now(), used);
    }
}

fn rate_refusal(wait: u64) -> Option<Refusal> {
    (wait > 0).then(|| Refusal::Rate { retry_after: Duration::from_micros(wait) })
}

#[pymethods]
impl PyCaller {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    #[pyo3(signature = (name, dedicated, buckets, cpu_rate, cpu_burst, calls=None, max_calls=None, clock=None))]
    fn new(
        name: &[u8],
        dedicated: bool,
        buckets: &PyBuckets,
        cpu_rate: u64,
        cpu_burst: u64,
        calls: Option<(u64, u64)>,
        max_calls: Option<usize>,
        clock: Option<Py<PyAny>>,
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
            Some(Arc::new(SharedCallerCpuBudget { table, bucket, quota }))
        };
        let tokens = |(interval, burst)| -> PyResult<SharedTokens> {
            let table = buckets.table.clone();
            Ok(SharedTokens { table, bucket: id, quota: quota(interval, burst)?, burst })
        };
        let calls = calls.map(tokens).transpose()?;
        let priority = if dedicated { Priority::Dedicated } else { Priority::Public };
        let shared = budget.clone().map(|budget| -> Arc<dyn CallerCpuBudget> { budget });
        let caller = Caller { id, priority, budget: shared };
        Ok(Self { caller, budget, calls, running: buckets.running(id), max_calls, clock })
    }

    /// Takes `used` us of processor time from the budget, into debt if necessary. Returns 0 while the budget
    /// is positive, otherwise the us until it is. `now` is the us of the clock of `time.monotonic_ns`.
    fn charge(&self, now: u64, used: u64) -> u64 {
        self.charge_us(now, used)
    }

    /// Number of its calls that are queued for, or run on, worker threads of this process.
    #[getter]
    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}
