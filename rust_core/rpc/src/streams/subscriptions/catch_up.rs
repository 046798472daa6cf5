//! `foreseal_getFlashblocks`: the feed in pages.

use std::ops::ControlFlow;

use bytes::Bytes;
use foreseal_chain::{
    BlockAtStep, Change, FeedError, StepCursor, StepLogs, View, changes, cursor_gone, step_at, step_with_logs,
};

use super::flashblock_parts::{FlashblockParts, PART_SIZE, PartStart};
use crate::{
    json::{
        block_json_cache::{BlockJsonCache, BlockPart, FlashblockKey},
        cursor::write_cursor,
        object::Object,
    },
    params::subscription::{Cursor, CursorPart},
};

/// Size in bytes from which a part is cached: smaller ones cost little.
const MIN_CACHED: usize = 16 << 10;

/// Parameters of a page.
pub struct PageRequest<'a> {
    /// Start of the page; `None` means after the newest step.
    pub cursor: Option<Cursor>,
    /// Maximum number of flashblocks and parts of them.
    pub limit: u64,
    /// Size in bytes after which the page ends.
    pub bytes: usize,
    pub cache: &'a BlockJsonCache,
}

impl PageRequest<'_> {
    /// Returns the page in `view`.
    pub fn page(&self, view: &View) -> Result<Vec<u8>, FeedError> {
        let newest = view.cursor();
        let Cursor { step: from, part } = self.cursor.unwrap_or(Cursor { step: newest, part: None });
        let mut page = Page { request: self, view, list: Vec::new(), count: 0, unfinished: None };
        let mut cursor = from;
        let mut removal = None;
        match part {
            Some(part) if part.removed => removal = Some(part),
            // The first part depends on the size of the whole step.
            Some(part) if part_start(part) == Some(PartStart::default()) => {
                page.write_rest(from, (&step_at(view, from)?, &StepLogs::InReceipts), part)?;
            }
            Some(part) => {
                let (step, logs) = step_with_logs(view, from)?;
                page.write_rest(from, (&step, &logs), part)?;
            }
            None => {}
        }
        if page.unfinished.is_none() && page.has_room() {
            let mut failed = None;
            cursor = changes(view, from, &mut |change, _| {
                let (step, removed) = match &change {
                    Change::Step(step) => (step, false),
                    Change::Removed(step) => (step, true),
                    Change::Sealed(_) | Change::Unsealed(_) => return ControlFlow::Continue(()),
                };
                let written = match removal.take() {
                    // The reader has a part of the removal of this step.
                    Some(part) if removed => page.write_rest(from, (step, &StepLogs::InReceipts), part),
                    Some(_) => cursor_gone(view).map_err(FeedError::from).and_then(Err),
                    None => page.write(
                        &page.step_parts((step, &StepLogs::InReceipts), removed),
                        PartStart::default(),
                    ),
                };
                failed = written.err();
                if failed.is_none() && page.unfinished.is_none() && page.has_room() {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            if removal.is_some() {
                return Err(cursor_gone(view)?);
            }
        }
        Ok(page.finish(cursor, newest))
    }
}

/// A page being written.
struct Page<'a> {
    request: &'a PageRequest<'a>,
    view: &'a View,
    /// Flashblocks so far, separated by commas.
    list: Vec<u8>,
    count: u64,
    /// Position inside the last step, if the page does not contain all of its parts.
    unfinished: Option<Cursor>,
}

impl<'a> Page<'a> {
    fn has_room(&self) -> bool {
        self.count == 0 || (self.count < self.request.limit && self.list.len() < self.request.bytes)
    }

    /// Writes the parts of the step at `cursor` from `part` on.
    fn write_rest(
        &mut self,
        cursor: StepCursor,
        step: (&BlockAtStep, &StepLogs),
        part: CursorPart,
    ) -> Result<(), FeedError> {
        let parts = self.step_parts(step, part.removed);
        match part_start(part).filter(|start| parts.has(*start)) {
            Some(start) if step_cursor(step.0) == cursor => self.write(&parts, start),
            _ => Err(cursor_gone(self.view)?),
        }
    }

    /// Writes the parts of a step from `start` on, as far as there is room.
    fn write(&mut self, parts: &FlashblockParts<'_>, start: PartStart) -> Result<(), FeedError> {
        let mut start = Some(start);
        while let Some(from) = start.filter(|_| self.has_room()) {
            if self.count > 0 {
                self.list.push(b',');
            }
            self.count += 1;
            start = self.write_part(parts, from)?;
        }
        self.unfinished = start.map(|next| Cursor {
            step: step_cursor(parts.step),
            part: Some(CursorPart {
                index: next.index,
                transaction: next.transaction as u64,
                log: next.log as u64,
                removed: parts.removed,
            }),
        });
        Ok(())
    }

    /// Appends one part, from the cache if another reader has requested it.
    fn write_part(
        &mut self,
        parts: &FlashblockParts<'_>,
        start: PartStart,
    ) -> Result<Option<PartStart>, FeedError> {
        let step = parts.step;
        let key = BlockPart::Flashblock(FlashblockKey {
            index: step.index,
            first: step.first,
            time: step.time,
            removed: parts.removed,
            part: start.index,
            transaction: start.transaction,
            log: start.log,
            size: parts.size,
        });
        let cache = self.request.cache;
        if let Some(json) = cache.get(step.block.hash, key) {
            self.list.extend_from_slice(&json);
            return Ok(parts.next(start)?);
        }
        let begin = self.list.len();
        let next = parts.write(&mut self.list, start)?;
        let written = &self.list[begin..];
        if written.len() >= MIN_CACHED {
            cache.insert(step.block.hash, key, Bytes::copy_from_slice(written));
        }
        Ok(next)
    }

    fn step_parts<'s>(
        &self,
        (step, logs): (&'s BlockAtStep, &'s StepLogs),
        removed: bool,
    ) -> FlashblockParts<'s>
    where
        'a: 's,
    {
        let view: &'a View = self.view;
        FlashblockParts { spec: view.spec(), step, logs, removed, size: self.request.bytes.min(PART_SIZE) }
    }

    fn finish(self, reached: StepCursor, newest: StepCursor) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.list.len() + 256);
        let mut object = Object::open(&mut out);
        let list = object.name("flashblocks");
        list.push(b'[');
        list.extend_from_slice(&self.list);
        list.push(b']');
        let is_complete = self.unfinished.is_none() && reached == newest;
        match self.unfinished {
            Some(cursor) => write_part_cursor(object.name("cursor"), &cursor),
            None => write_cursor(object.name("cursor"), &reached),
        }
        object.json("complete", if is_complete { "true" } else { "false" }).close();
        out
    }
}

fn step_cursor(step: &BlockAtStep) -> StepCursor {
    StepCursor { number: step.block.header.number, index: step.index, hash: step.block.hash }
}

fn part_start(part: CursorPart) -> Option<PartStart> {
    let (transaction, log) = (usize::try_from(part.transaction).ok()?, usize::try_from(part.log).ok()?);
    Some(PartStart { index: part.index, transaction, log })
}

/// Writes a position inside a step.
fn write_part_cursor(out: &mut Vec<u8>, Cursor { step, part }: &Cursor) {
    let mut object = Object::open(out);
    object.quantity("block", step.number).quantity("index", step.index).data("hash", step.hash);
    if let Some(part) = part {
        Object::open(object.name("part"))
            .quantity("index", part.index)
            .quantity("transaction", part.transaction)
            .quantity("log", part.log)
            .json("removed", if part.removed { "true" } else { "false" })
            .close();
    }
    object.close();
}
