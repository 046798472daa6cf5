//! `foreseal_getFlashblocks`: the feed in pages.

use std::{ops::ControlFlow, sync::Arc};

use foreseal_chain::{Change, FeedError, StepCursor, View, changes};
use foreseal_state::StateError;

use super::flashblock::write_flashblock;
use crate::{
    Context, Error,
    json::{Object, write_cursor},
    params::{Cursor, Params},
};

/// Returns the flashblocks after a cursor in the format of the feed.
///
/// If a reorg made the request's view unavailable, the newest view replaces it: it continues from any cursor,
/// and a caller that catches up does not need an older view.
pub fn get_flashblocks(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (cursor, limit): (Option<Cursor>, Option<u64>) = (params.optional()?, params.optional()?);
    let limits = context.limits;
    let limit = limit.unwrap_or(limits.flashblocks).clamp(1, limits.flashblocks.max(1));
    let page_request =
        PageRequest { cursor: cursor.map(|Cursor(cursor)| cursor), limit, bytes: limits.flashblock_bytes };
    let mut view = context.view()?.clone();
    loop {
        match page_request.page(&view) {
            Err(FeedError::Read(StateError::ViewGone)) => {
                let newest = context.newest_view()?;
                if Arc::ptr_eq(&newest, &view) {
                    return Err(StateError::ViewGone.into());
                }
                view = newest;
            }
            page => return Ok(page?),
        }
    }
}

/// Parameters of a page.
struct PageRequest {
    /// Start of the page; `None` means after the newest step.
    cursor: Option<StepCursor>,
    /// Maximum number of flashblocks.
    limit: u64,
    /// Size in bytes after which the page ends.
    bytes: usize,
}

impl PageRequest {
    fn page(&self, view: &View) -> Result<Vec<u8>, FeedError> {
        let newest = view.cursor();
        let (mut out, mut count) = (Vec::new(), 0);
        let mut object = Object::open(&mut out);
        let list = object.name("flashblocks");
        list.push(b'[');
        let begin = list.len();
        let cursor = changes(view, self.cursor.unwrap_or(newest), &mut |change, _| {
            let (step, removed) = match &change {
                Change::Step(step) => (step, false),
                Change::Removed(step) => (step, true),
                Change::Sealed(_) | Change::Unsealed(_) => return ControlFlow::Continue(()),
            };
            if count > 0 {
                list.push(b',');
            }
            count += 1;
            write_flashblock(list, view.spec(), step, removed);
            if count < self.limit && list.len() - begin < self.bytes {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        list.push(b']');
        write_cursor(object.name("cursor"), &cursor);
        object.json("complete", if cursor == newest { "true" } else { "false" }).close();
        Ok(out)
    }
}
