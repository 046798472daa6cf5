//! `foreseal_getFlashblocks`: the feed, page by page.

use std::{ops::ControlFlow, sync::Arc};

use foreseal_node::{Change, FeedError, Place, View, changes};
use foreseal_state::StateError;

use super::flashblock::{write_flashblock, write_place};
use crate::{
    Context, Error,
    json::Object,
    params::{Cursor, Params},
};

/// What comes behind a cursor, as subscribers of the feed are told it.
///
/// Where an unwind overtook the request's view, the newest one answers: it leads on from any cursor, and a caller who is
/// catching up has no use for an older one.
pub fn get_flashblocks(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (cursor, limit): (Option<Cursor>, Option<u64>) = (params.optional()?, params.optional()?);
    let limits = context.limits;
    let most = limit.unwrap_or(limits.flashblocks).clamp(1, limits.flashblocks.max(1));
    let asked = Asked { cursor: cursor.map(|Cursor(place)| place), most, bytes: limits.flashblock_bytes };
    let mut view = context.view()?.clone();
    loop {
        match asked.page(&view) {
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

/// What a page is to hold.
struct Asked {
    /// `None`: behind the newest step.
    cursor: Option<Place>,
    /// Flashblocks.
    most: u64,
    /// After so many it ends.
    bytes: usize,
}

impl Asked {
    fn page(&self, view: &View) -> Result<Vec<u8>, FeedError> {
        let newest = view.place();
        let (mut out, mut count) = (Vec::new(), 0);
        let mut object = Object::open(&mut out);
        let list = object.name("flashblocks");
        list.push(b'[');
        let begin = list.len();
        let place = changes(view, self.cursor.unwrap_or(newest), &mut |change, _| {
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
            if count < self.most && list.len() - begin < self.bytes {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        list.push(b']');
        write_place(object.name("cursor"), &place);
        object.json("complete", if place == newest { "true" } else { "false" }).close();
        Ok(out)
    }
}
