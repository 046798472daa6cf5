//! A queue that serves callers in turns, by processor time.

use std::collections::{HashMap, VecDeque};

/// Processor time, in microseconds, that a caller may use before others get their turn.
pub const QUANTUM: i64 = 1_000;

/// Cost of a caller's first item, in microseconds, until it is settled.
const FIRST_COST: i64 = 100;
/// Smallest cost of an item, in microseconds: handing it to a thread takes about as long.
const MIN_COST: i64 = 20;
/// Largest debt of a caller, in microseconds.
const MAX_DEBT: i64 = 2_000_000;
/// Callers without items that are remembered for their debt.
const MAX_INDEBTED: usize = 4_096;
/// Callers from which on those without items and without debt are forgotten.
const MAX_REMEMBERED: usize = 1_024;

/// Items by caller, served by deficit round-robin over processor time.
///
/// A caller that was absent is served before those with a backlog, so one that calls now and then does not wait for those
/// that call all the time (the scheme of fq_codel, RFC 8290, with processor time in place of bytes). An item's cost is
/// known only after it ran: it is taken at an estimate and settled later.
pub struct FairQueue<T> {
    flows: HashMap<u64, Flow<T>>,
    /// Callers that were absent.
    fresh: VecDeque<u64>,
    backlog: VecDeque<u64>,
    len: usize,
    /// Number of callers from which on those that need not be remembered are searched for.
    purge_at: usize,
}

struct Flow<T> {
    items: VecDeque<T>,
    /// Microseconds that it may still use in this round.
    deficit: i64,
    /// Estimated cost of its next item, in microseconds.
    cost: i64,
    /// Listed in `fresh`, else in `backlog`.
    is_fresh: bool,
}

/// An item that was taken from the queue.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken<T> {
    pub caller: u64,
    pub item: T,
    /// Cost that was charged for it, in microseconds; see [`FairQueue::settle`].
    pub estimate: i64,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            fresh: VecDeque::new(),
            backlog: VecDeque::new(),
            len: 0,
            purge_at: MAX_REMEMBERED,
        }
    }
}

impl<T> FairQueue<T> {
    /// Returns the number of items.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no items.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of items of a caller.
    pub fn len_of(&self, caller: u64) -> usize {
        self.flows.get(&caller).map_or(0, |flow| flow.items.len())
    }

    /// Returns the first item of each caller, in any order.
    pub fn heads(&self) -> impl Iterator<Item = &T> {
        self.flows.values().filter_map(|flow| flow.items.front())
    }

    /// Returns the first item of the caller whose turn is next, if that caller was absent.
    pub fn first_fresh(&self) -> Option<&T> {
        let served = |caller: &u64| {
            let flow = &self.flows[caller];
            if flow.deficit > 0 { flow.items.front() } else { None }
        };
        self.fresh.iter().find_map(served)
    }

    /// Adds an item behind the caller's others.
    pub fn push(&mut self, caller: u64, item: T) {
        self.flow(caller).items.push_back(item);
        self.len += 1;
    }

    /// Adds an item before the caller's others.
    pub fn push_front(&mut self, caller: u64, item: T) {
        self.flow(caller).items.push_front(item);
        self.len += 1;
    }

    /// The caller's flow. One that had nothing to serve, and has not used its quantum, counts as absent.
    fn flow(&mut self, caller: u64) -> &mut Flow<T> {
        let flow = self.flows.entry(caller).or_insert_with(|| {
            self.fresh.push_back(caller);
            Flow { items: VecDeque::new(), deficit: QUANTUM, cost: FIRST_COST, is_fresh: true }
        });
        if !flow.is_fresh && flow.items.is_empty() && flow.deficit > 0 {
            flow.is_fresh = true;
            self.backlog.retain(|other| *other != caller);
            self.fresh.push_back(caller);
        }
        flow
    }

    /// Takes the next item that is first of its caller's and that `accepts` returns `true` for.
    pub fn pop_if(&mut self, accepts: impl Fn(&T) -> bool) -> Option<Taken<T>> {
        self.retire_fresh();
        let flows = &self.flows;
        let ready = |caller: &u64| flows[caller].items.front().is_some_and(&accepts);
        if let Some(caller) = self.fresh.iter().copied().find(ready) {
            return self.pop_of(caller);
        }
        let rounds =
            self.backlog.iter().filter(|caller| ready(caller)).map(|caller| rounds(flows[caller].deficit));
        let rounds = rounds.min()?;
        if rounds > 0 {
            self.grant(rounds);
        }
        let flows = &self.flows;
        let served = |caller: &u64| {
            let flow = &flows[caller];
            flow.deficit > 0 && flow.items.front().is_some_and(&accepts)
        };
        let position = self.backlog.iter().position(served)?;
        // Those before it have nothing to serve now; the served one stays in front until its quantum is used.
        self.backlog.rotate_left(position);
        let caller = *self.backlog.front()?;
        let taken = self.pop_of(caller);
        if self.flows[&caller].deficit <= 0 {
            self.backlog.rotate_left(1);
        }
        taken
    }

    /// Moves fresh callers that have used their first quantum, or have no items, behind the backlog.
    fn retire_fresh(&mut self) {
        let (flows, backlog) = (&mut self.flows, &mut self.backlog);
        self.fresh.retain(|caller| {
            let Some(flow) = flows.get_mut(caller) else { return false };
            flow.is_fresh = flow.deficit > 0 && !flow.items.is_empty();
            if !flow.is_fresh {
                backlog.push_back(*caller);
            }
            flow.is_fresh
        });
        if self.flows.len() >= self.purge_at {
            self.purge();
        }
    }

    /// Forgets callers that have neither items nor debt.
    fn purge(&mut self) {
        let flows = &mut self.flows;
        self.backlog.retain(|caller| {
            let stays = flows.get(caller).is_some_and(|flow| flow.deficit <= 0 || !flow.items.is_empty());
            if !stays {
                flows.remove(caller);
            }
            stays
        });
        self.purge_at = MAX_REMEMBERED.max(2 * self.flows.len());
    }

    /// Gives each caller of the backlog so many quanta; forgets those without items whose debt is paid.
    fn grant(&mut self, rounds: i64) {
        let flows = &mut self.flows;
        self.backlog.retain(|caller| {
            let Some(flow) = flows.get_mut(caller) else { return false };
            flow.deficit = (flow.deficit + rounds * QUANTUM).min(QUANTUM);
            let stays = flow.deficit <= 0 || !flow.items.is_empty();
            if !stays {
                flows.remove(caller);
            }
            stays
        });
    }

    fn pop_of(&mut self, caller: u64) -> Option<Taken<T>> {
        let flow = self.flows.get_mut(&caller)?;
        let item = flow.items.pop_front()?;
        self.len -= 1;
        flow.deficit -= flow.cost;
        Some(Taken { caller, item, estimate: flow.cost })
    }

    /// Corrects the cost of an item that was taken at an estimate: it used `used` microseconds.
    pub fn settle(&mut self, caller: u64, estimate: i64, used: i64) {
        let used = used.max(MIN_COST);
        let owed = used.saturating_sub(estimate);
        if let Some(flow) = self.flows.get_mut(&caller) {
            flow.deficit = flow.deficit.saturating_sub(owed).max(-MAX_DEBT);
            flow.cost = ((3 * flow.cost + used) / 4).clamp(MIN_COST, QUANTUM);
        } else if owed > QUANTUM && self.flows.len() < MAX_INDEBTED {
            let deficit = (QUANTUM - owed).max(-MAX_DEBT);
            let flow = Flow { items: VecDeque::new(), deficit, cost: QUANTUM, is_fresh: false };
            self.flows.insert(caller, flow);
            self.backlog.push_back(caller);
        }
    }

    /// Takes the first item of the caller with the largest debt among those whose first item `accepts` returns `true` for.
    pub fn pop_indebted(&mut self, accepts: impl Fn(&T) -> bool) -> Option<T> {
        let indebted = self.flows.iter_mut().filter(|(_, flow)| flow.items.front().is_some_and(&accepts));
        // Of equal ones the greatest id: the order of a hash map decides nothing.
        let (_, flow) = indebted.min_by_key(|(caller, flow)| (flow.deficit, std::cmp::Reverse(**caller)))?;
        self.len -= 1;
        flow.items.pop_front()
    }

    /// Returns the caller with the most items, and their number.
    pub fn longest(&self) -> Option<(u64, usize)> {
        let lengths = self.flows.iter().map(|(caller, flow)| (*caller, flow.items.len()));
        // Of equal ones the greatest id: the order of a hash map decides nothing.
        lengths.max_by_key(|(caller, length)| (*length, *caller)).filter(|(_, length)| *length > 0)
    }

    /// Takes the newest item of a caller that `accepts` returns `true` for.
    pub fn pop_newest(&mut self, caller: u64, accepts: impl Fn(&T) -> bool) -> Option<T> {
        let items = &mut self.flows.get_mut(&caller)?.items;
        if !items.back().is_some_and(accepts) {
            return None;
        }
        self.len -= 1;
        items.pop_back()
    }

    /// Takes the first items of each caller for which `accepts` returns `true`, in any order of the callers.
    pub fn pop_heads(&mut self, accepts: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for flow in self.flows.values_mut() {
            while flow.items.front().is_some_and(&accepts) {
                taken.extend(flow.items.pop_front());
            }
        }
        self.len -= taken.len();
        taken
    }

    /// Takes all items, in any order.
    pub fn drain(&mut self) -> Vec<T> {
        self.fresh.clear();
        self.backlog.clear();
        self.len = 0;
        self.flows.drain().flat_map(|(_, flow)| flow.items).collect()
    }
}

/// Quanta that a deficit lacks to be positive.
const fn rounds(deficit: i64) -> i64 {
    if deficit > 0 { 0 } else { -deficit / QUANTUM + 1 }
}

#[cfg(test)]
mod tests;
