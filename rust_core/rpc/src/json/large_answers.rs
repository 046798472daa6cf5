//! Budget of large results of public callers that are rendered at once.

use std::{collections::hash_map::Entry, sync::Arc};

use alloy_primitives::map::HashMap;
use foreseal_scheduler::running_public_caller;
use parking_lot::Mutex;

/// Size in bytes above which a result counts.
pub const LARGE: usize = 1 << 20;
/// Maximum size in bytes of the large results of all public callers that exist at once.
const MAX_TOTAL: usize = 48 << 20;
/// Maximum size in bytes of those of one caller, who may always have one.
const MAX_CALLER: usize = 24 << 20;

/// Budget of large results of public callers that are being rendered. The transport bounds the bytes that wait for a
/// client.
#[derive(Clone, Debug, Default)]
pub struct LargeAnswers(Arc<Mutex<ReservedBytes>>);

#[derive(Debug, Default)]
struct ReservedBytes {
    total: usize,
    /// Bytes by caller; callers without any have no entry.
    callers: HashMap<u64, usize>,
}

/// Large results of `max` bytes are in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLargeAnswers {
    pub max: usize,
}

/// Part of the budget that a result holds; dropping it returns the part.
#[derive(Debug)]
pub struct Reservation {
    reserved: Arc<Mutex<ReservedBytes>>,
    caller: u64,
    bytes: usize,
}

impl LargeAnswers {
    /// Reserves room for a result of at most `bytes`. Returns `None` for one that is not large, and if the caller of
    /// the current job is not public.
    ///
    /// # Errors
    ///
    /// Returns an error while the caller, or all callers together, have too many.
    pub fn reserve(&self, bytes: usize) -> Result<Option<Reservation>, TooManyLargeAnswers> {
        running_public_caller().map_or(Ok(None), |caller| self.reserve_for(caller, bytes))
    }

    fn reserve_for(&self, caller: u64, bytes: usize) -> Result<Option<Reservation>, TooManyLargeAnswers> {
        if bytes <= LARGE {
            return Ok(None);
        }
        let mut reserved = self.0.lock();
        let own = reserved.callers.get(&caller).copied().unwrap_or_default();
        let fits = |used: usize, max| used == 0 || used.saturating_add(bytes) <= max;
        if !fits(own, MAX_CALLER) {
            return Err(TooManyLargeAnswers { max: MAX_CALLER });
        }
        if !fits(reserved.total, MAX_TOTAL) {
            return Err(TooManyLargeAnswers { max: MAX_TOTAL });
        }
        reserved.total = reserved.total.saturating_add(bytes);
        reserved.callers.insert(caller, own.saturating_add(bytes));
        Ok(Some(Reservation { reserved: self.0.clone(), caller, bytes }))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = self.reserved.lock();
        reserved.total = reserved.total.saturating_sub(self.bytes);
        if let Entry::Occupied(mut own) = reserved.callers.entry(self.caller) {
            *own.get_mut() = own.get().saturating_sub(self.bytes);
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_a_share_that_returns_with_its_results() {
        let answers = LargeAnswers::default();
        assert!(answers.reserve_for(1, LARGE).unwrap().is_none(), "small results do not count");
        let first = answers.reserve_for(1, MAX_CALLER + 1).unwrap().expect("one is always admitted");
        assert!(answers.reserve_for(1, LARGE + 1).is_err());
        let other = answers.reserve_for(2, MAX_CALLER / 2).unwrap();
        drop(first);
        assert!(answers.reserve_for(1, LARGE + 1).is_ok());
        drop(other);
        let reserved = answers.0.lock();
        assert_eq!((reserved.total, reserved.callers.len()), (0, 0));
    }

    #[test]
    fn all_callers_share_one_budget() {
        let answers = LargeAnswers::default();
        let reservations: Vec<_> =
            (0..2).map(|caller| answers.reserve_for(caller, MAX_TOTAL / 2).unwrap()).collect();
        assert!(answers.reserve_for(9, LARGE + 1).is_err());
        drop(reservations);
        assert!(answers.reserve_for(9, LARGE + 1).is_ok());
    }
}
