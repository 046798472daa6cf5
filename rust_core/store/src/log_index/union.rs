//! Search for the chunks that contain any of several criteria.

use heed::RoTxn;
use roaring::{MultiOps, RoaringBitmap};

use super::criterion::Criterion;
use crate::log_index::{LogIndex, LogIndexError, chunk};

/// A criterion and the first of its chunks that the search has not passed.
struct UnionMember<'t> {
    criterion: Criterion,
    /// `None` if it has no more chunks.
    next: Option<(u32, &'t [u8])>,
}

/// Any of several criteria, from one list of a filter.
pub(super) struct Union<'t> {
    index: LogIndex,
    txn: &'t RoTxn<'t>,
    members: Vec<UnionMember<'t>>,
    /// Last chunk of the range.
    last: u32,
}

impl<'t> Union<'t> {
    /// Starts at chunk `first`. The chunks of a criterion are read lazily, one at a time.
    pub(super) fn new(
        index: LogIndex,
        txn: &'t RoTxn<'t>,
        criteria: Vec<Criterion>,
        (first, last): (u32, u32),
        work: &mut u64,
    ) -> Result<Self, LogIndexError> {
        let mut any = Self { index, txn, members: Vec::with_capacity(criteria.len()), last };
        for criterion in criteria {
            let next = any.lookup(&criterion, first, work)?;
            any.members.extend(next.map(|next| UnionMember { criterion, next: Some(next) }));
        }
        Ok(any)
    }

    fn lookup(
        &self,
        criterion: &Criterion,
        from: u32,
        work: &mut u64,
    ) -> Result<Option<(u32, &'t [u8])>, LogIndexError> {
        *work += 1;
        let entry = self.index.table.get_greater_than_or_equal_to(self.txn, criterion.key(from).as_ref())?;
        let chunk = entry.and_then(|(key, bytes)| Some((criterion.chunk_of(key)?, bytes)));
        Ok(chunk.filter(|(number, _)| *number <= self.last))
    }

    /// Returns the first chunk at or after `target` that contains any of the criteria.
    pub(super) fn seek(&mut self, target: u32, work: &mut u64) -> Result<Option<u32>, LogIndexError> {
        let mut first = None;
        for place in 0..self.members.len() {
            let UnionMember { criterion, next } = &self.members[place];
            let next = match next {
                Some((number, _)) if *number < target => self.lookup(&criterion.clone(), target, work)?,
                next => *next,
            };
            self.members[place].next = next;
            first = [first, next.map(|(number, _)| number)].into_iter().flatten().min();
        }
        self.members.retain(|alternative| alternative.next.is_some());
        Ok(first)
    }

    /// Returns the number of bytes that [`Self::read`] would read: the fewer, the rarer.
    pub(super) fn weight(&self, number: u32) -> usize {
        self.at(number).map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns the ordinals in chunk `number`, which [`Self::seek`] found.
    pub(super) fn read(&self, number: u32, work: &mut u64) -> Result<RoaringBitmap, LogIndexError> {
        let read = |(criterion, bytes)| {
            *work += 1;
            chunk::read(bytes).map_err(|chunk::NotAChunk| LogIndexError::Damaged { criterion, chunk: number })
        };
        self.at(number).map(read).union()
    }

    fn at(&self, number: u32) -> impl Iterator<Item = (Criterion, &'t [u8])> {
        let at = move |alternative: &UnionMember<'t>| {
            let (chunk, bytes) = alternative.next?;
            (chunk == number).then_some((alternative.criterion, bytes))
        };
        self.members.iter().filter_map(at)
    }
}
