//! `eth_getLogs`: one range at once; `foreseal_getLogs`: any range, page by page.

mod answer;
mod range;

use foreseal_node::{BlockId, View, search_block};
use foreseal_types::{LogFilter, LogPosition};

use crate::{
    Argument, Context, Error, Kind, Limits, LogLimit, LogLimitKind, Method,
    errors::milliseconds,
    params::{BlockSelection, Filter, Params},
};

use answer::{Answer, Stop};
use range::Range;

pub const METHODS: &[Method] =
    &[Method::threaded("eth_getLogs", &[Argument::required("filter", Kind::Filter)], get_logs)];

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Filter { blocks, addresses, topics } = params.required()?;
    let (view, filter) = (context.view()?, LogFilter::new(addresses, topics));
    match blocks {
        BlockSelection::Hash(hash) => {
            let found = view.resolve(BlockId::Hash { hash, require_canonical: false })?;
            let mut answer = Answer::unlimited();
            let _ended = search_block(&found.block, &filter, 0, &mut answer);
            Ok(answer.into_json())
        }
        BlockSelection::Range { from, to } => match Range::resolve(view, from, to)? {
            Some(range) => Ok(search(view, &filter, range, context.limits)?.into_json()),
            None => Ok(Answer::unlimited().into_json()),
        },
    }
}

/// All matching logs of the range, or the limit in the way and the range up to there. A single block is never refused.
fn search(view: &View, filter: &LogFilter, range: Range, limits: &Limits) -> Result<Answer, Error> {
    let Range { from, to } = range;
    let mut answer =
        if from == to { Answer::unlimited() } else { Answer::within(limits.logs, limits.log_time) };
    let ended = view.search_logs(filter, LogPosition::block(from), to, &mut answer)?;
    let kind = match answer.stop() {
        None => return Ok(answer),
        Some(Stop::Full) => LogLimitKind::Logs { max: limits.logs },
        Some(Stop::Late) => LogLimitKind::Milliseconds { max: milliseconds(limits.log_time) },
    };
    // The block where it ended is not done; the first one alone can always be asked for.
    let to = ended.block.saturating_sub(1).max(from);
    Err(LogLimit { kind, from, to }.into())
}
