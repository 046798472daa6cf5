//! `foreseal_getFlashblocks`: the feed, page by page.

use std::ops::ControlFlow;

use foreseal_node::{Change, changes};

use super::flashblock::{write_flashblock, write_place};
use crate::{
    Context, Error,
    json::Object,
    params::{Cursor, Params},
};

/// What comes behind a cursor, as subscribers of the feed are told it.
pub fn get_flashblocks(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (cursor, limit): (Option<Cursor>, Option<u64>) = (params.optional()?, params.optional()?);
    let (view, limits) = (context.view()?, context.limits);
    let most = limit.unwrap_or(limits.flashblocks).clamp(1, limits.flashblocks.max(1));
    let newest = view.place();
    let mut place = cursor.map_or(newest, |Cursor(place)| place);
    let (mut out, mut count) = (Vec::new(), 0);
    let mut object = Object::open(&mut out);
    let list = object.name("flashblocks");
    list.push(b'[');
    let begin = list.len();
    place = changes(view, place, &mut |change, _| {
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
        if count < most && list.len() - begin < limits.flashblock_bytes {
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
