//! A queue that serves callers by deficit round-robin over processor time.

use std::collections::{HashMap, VecDeque};

/// Processor time, in microseconds, that a caller may use before others are served.
pub const QUANTUM: i64 = 1_000;

/// Cost of a caller's first item, in microseconds, until it is settled.
const INITIAL_COST: i64 = 100;
/// Minimum cost of an item, in microseconds: dispatching it to a thread takes about as long.
const MIN_COST: i64 = 20;
/// Maximum debt of a caller, in microseconds.
const MAX_DEBT: i64 = 2_000_000;
/// Maximum number of callers without items that are retained because of their debt.
const MAX_INDEBTED: usize = 4_096;
/// Number of callers from which those without items and without debt are removed.
const MAX_REMEMBERED: usize = 1_024;

/// Items by caller, served by deficit round-robin over processor time.
///
/// A caller without queued items is *fresh*: its next item is served before those of callers with a backlog.
/// So a caller with occasional requests does not wait for callers with constant load (fq_codel, RFC 8290,
/// with processor time in place of bytes). The cost of an item is known only after it ran: it is charged at
/// an estimate and settled later.
pub struct FairQueue<T> {
    flows: HashMap<u64, Flow<T>>,
    /// Fresh callers, oldest first.
    new_callers: VecDeque<u64>,
    backlog: VecDeque<u64>,
    len: usize,
    /// Number of callers from which callers without items and debt are purged.
    purge_at: usize,
}

struct Flow<T> {
    items: VecDeque<T>,
    /// Microseconds that it may still use in this round.
    deficit: i64,
    /// Estimated cost of its next item, in microseconds.
    cost: i64,
    /// `true` if listed in `new_callers`, else listed in `backlog`.
    is_new: bool,
}

/// An item popped from the queue.
#[derive(Debug, PartialEq, Eq)]
pub struct PoppedItem<T> {
    pub caller: u64,
    pub item: T,
    /// Cost that was charged for it, in microseconds; see [`FairQueue::settle`].
    pub estimate: i64,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            new_callers: VecDeque::new(),
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
    pub fn caller_len(&self, caller: u64) -> usize {
        self.flows.get(&caller).map_or(0, |flow| flow.items.len())
    }

    /// Returns the first item of each caller, in any order.
    pub fn heads(&self) -> impl Iterator<Item = &T> {
        self.flows.values().filter_map(|flow| flow.items.front())
    }

    /// Returns the first item of the fresh caller that is served next, if one is fresh.
    pub fn first_new_caller(&self) -> Option<&T> {
        let served = |caller: &u64| {
            let flow = &self.flows[caller];
            if flow.deficit > 0 { flow.items.front() } else { None }
        };
        self.new_callers.iter().find_map(served)
    }

    /// Appends an item to the caller's queue.
    pub fn push(&mut self, caller: u64, item: T) {
        self.flow(caller).items.push_back(item);
        self.len += 1;
    }

    /// Adds an item at the front of the caller's queue.
    pub fn push_front(&mut self, caller: u64, item: T) {
        self.flow(caller).items.push_front(item);
        self.len += 1;
    }

    /// Returns the caller's flow. A caller with no items that has not used its quantum becomes fresh.
    fn flow(&mut self, caller: u64) -> &mut Flow<T> {
        let flow = self.flows.entry(caller).or_insert_with(|| {
            self.new_callers.push_back(caller);
            Flow { items: VecDeque::new(), deficit: QUANTUM, cost: INITIAL_COST, is_new: true }
        });
        if !flow.is_new && flow.items.is_empty() && flow.deficit > 0 {
            flow.is_new = true;
            self.backlog.retain(|other| *other != caller);
            self.new_callers.push_back(caller);
        }
        flow
    }

    /// Pops the next item that is first in its caller's queue and for which `accepts` returns `true`.
    pub fn pop_if(&mut self, accepts: impl Fn(&T) -> bool) -> Option<PoppedItem<T>> {
        self.retire_new_callers();
        let flows = &self.flows;
        let ready = |caller: &u64| flows[caller].items.front().is_some_and(&accepts);
        if let Some(caller) = self.new_callers.iter().copied().find(ready) {
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
        // Callers before it have nothing to serve now. The served caller stays in front until its quantum is
        // used.
        self.backlog.rotate_left(position);
        let caller = *self.backlog.front()?;
        let taken = self.pop_of(caller);
        if self.flows[&caller].deficit <= 0 {
            self.backlog.rotate_left(1);
        }
        taken
    }

    /// Moves fresh callers that have used their first quantum, or have no items, behind the backlog.
    fn retire_new_callers(&mut self) {
        let (flows, backlog) = (&mut self.flows, &mut self.backlog);
        self.new_callers.retain(|caller| {
            let Some(flow) = flows.get_mut(caller) else { return false };
            flow.is_new = flow.deficit > 0 && !flow.items.is_empty();
            if !flow.is_new {
                backlog.push_back(*caller);
            }
            flow.is_new
        });
        if self.flows.len() >= self.purge_at {
            self.purge();
        }
    }

    /// Removes callers that have neither items nor debt.
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

    /// Grants each caller of the backlog `rounds` quanta. Removes callers without items whose debt is paid.
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

    fn pop_of(&mut self, caller: u64) -> Option<PoppedItem<T>> {
        let flow = self.flows.get_mut(&caller)?;
        let item = flow.items.pop_front()?;
        self.len -= 1;
        flow.deficit -= flow.cost;
        Some(PoppedItem { caller, item, estimate: flow.cost })
    }

    /// Corrects the cost of an item that was charged at an estimate: it used `used` microseconds.
    pub fn settle(&mut self, caller: u64, estimate: i64, used: i64) {
        let used = used.max(MIN_COST);
        let owed = used.saturating_sub(estimate);
        if let Some(flow) = self.flows.get_mut(&caller) {
            flow.deficit = flow.deficit.saturating_sub(owed).max(-MAX_DEBT);
            flow.cost = ((3 * flow.cost + used) / 4).clamp(MIN_COST, QUANTUM);
        } else if owed > QUANTUM && self.flows.len() < MAX_INDEBTED {
            let deficit = (QUANTUM - owed).max(-MAX_DEBT);
            let flow = Flow { items: VecDeque::new(), deficit, cost: QUANTUM, is_new: false };
            self.flows.insert(caller, flow);
            self.backlog.push_back(caller);
        }
    }

    /// Pops the first item of the caller with the largest debt, among those whose first item `accepts`
    /// returns `true` for.
    pub fn pop_highest_usage(&mut self, accepts: impl Fn(&T) -> bool) -> Option<T> {
        let indebted = self.flows.iter_mut().filter(|(_, flow)| flow.items.front().is_some_and(&accepts));
        // Ties go to the greatest id, so the result does not depend on the order of the hash map.
        let (_, flow) = indebted.min_by_key(|(caller, flow)| (flow.deficit, std::cmp::Reverse(**caller)))?;
        self.len -= 1;
        flow.items.pop_front()
    }

    /// Returns the caller with the most items, and their number.
    pub fn longest(&self) -> Option<(u64, usize)> {
        let lengths = self.flows.iter().map(|(caller, flow)| (*caller, flow.items.len()));
        // Ties go to the greatest id, so the result does not depend on the order of the hash map.
        lengths.max_by_key(|(caller, length)| (*length, *caller)).filter(|(_, length)| *length > 0)
    }

    /// Pops the newest item of a caller if `accepts` returns `true` for it.
    pub fn pop_newest(&mut self, caller: u64, accepts: impl Fn(&T) -> bool) -> Option<T> {
        let items = &mut self.flows.get_mut(&caller)?.items;
        if !items.back().is_some_and(accepts) {
            return None;
        }
        self.len -= 1;
        items.pop_back()
    }

    /// Pops the first items of each caller for which `accepts` returns `true`, in any order of the callers.
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

    /// Pops all items, in any order.
    pub fn drain(&mut self) -> Vec<T> {
        self.new_callers.clear();
        self.backlog.clear();
        self.len = 0;
        self.flows.drain().flat_map(|(_, flow)| flow.items).collect()
    }
}

/// Returns the number of quanta that make a deficit positive.
const fn rounds(deficit: i64) -> i64 {
    if deficit > 0 { 0 } else { -deficit / QUANTUM + 1 }
}

#[cfg(test)]
mod tests;
