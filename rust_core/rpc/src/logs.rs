//! `eth_getLogs`: blooms of blocks first, then of receipts, then the logs themselves.

use std::time::Instant;

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};
use foreseal_node::{BlockId, Executed, View};
use foreseal_types::mutant;

use crate::{
    Argument, Context, Error, Kind, Limits, LogLimit, LogLimitKind, Method, RangeError,
    errors::milliseconds,
    json::{BlockOfReceipt, write_log},
    params::{BlockSelection, Filter, Params, Tag},
};

pub const METHODS: &[Method] =
    &[Method::threaded("eth_getLogs", &[Argument::required("filter", Kind::Filter)], get_logs)];

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let filter: Filter = params.required()?;
    let view = context.view()?;
    let mut found = Found::new(Matcher::new(filter.addresses, filter.topics));
    match filter.blocks {
        BlockSelection::Hash(hash) => {
            let block = view.resolve(BlockId::Hash { hash, require_canonical: false })?;
            found.add_block(view, &block, u64::MAX);
        }
        BlockSelection::Range { from, to } => {
            if let Some(range) = Range::resolve(view, from, to)? {
                range.search(view, context.limits, &mut found)?;
            }
        }
    }
    Ok(found.into_json())
}

/// Blocks from `from` to `to`, at least one; only `pending` as an upper bound reaches the block being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: u64,
    to: u64,
}

impl Range {
    /// The range that the tags name in `view`. `None` is a range that is empty only as yet: a client that goes on from
    /// the block after the last one it has seen, up to a name, may be ahead of that name.
    fn resolve(view: &View, from: Tag, to: Tag) -> Result<Option<Self>, RangeError> {
        let (first, last) = (number(view, from), number(view, to));
        match (from, to) {
            _ if first <= last => {
                let beyond = |tag| matches!(tag, Tag::Number(n) if n > view.latest().number());
                if beyond(to) || (beyond(from) && to != Tag::Pending) {
                    return Err(RangeError::BeyondHead);
                }
                Ok(Some(Self { from: first, to: last }))
            }
            (Tag::Number(_), Tag::Number(_)) => Err(RangeError::Reversed),
            (Tag::Number(_), _) => Ok(None),
            _ => Err(RangeError::Reversed),
        }
    }

    /// Blocks in the range.
    fn length(self) -> u64 {
        (self.to - self.from).saturating_add(1)
    }

    fn search(self, view: &View, limits: &Limits, found: &mut Found) -> Result<(), Error> {
        let limit = |kind, to| Error::LogLimit(LogLimit { kind, from: self.from, to });
        if self.length() > limits.log_blocks.max(1) && !mutant!("skip-log-limit") {
            let last = self.from.saturating_add(limits.log_blocks.max(1) - 1);
            return Err(limit(LogLimitKind::Blocks { max: limits.log_blocks }, last));
        }
        let single = self.length() == 1;
        let most = if single { u64::MAX } else { limits.logs };
        let started = Instant::now();
        for number in self.from..=self.to {
            let Some(block) = view.at(number)? else { continue };
            found.add_block(view, &block, most);
            // The first block alone is always a usable range: a single block is never refused.
            let usable = number.saturating_sub(1).max(self.from);
            if found.count > most {
                return Err(limit(LogLimitKind::Logs { max: limits.logs }, usable));
            }
            if !single && number < self.to && started.elapsed() > limits.log_time {
                return Err(limit(LogLimitKind::Milliseconds { max: milliseconds(limits.log_time) }, number));
            }
        }
        Ok(())
    }
}

fn number(view: &View, tag: Tag) -> u64 {
    match tag {
        Tag::Number(number) => number,
        Tag::Latest => view.latest().number(),
        Tag::Pending => view.pending().number(),
        Tag::Safe => view.safe(),
        Tag::Finalized => view.finalized(),
        Tag::Earliest => 0,
    }
}

/// A filter made ready for many logs.
struct Matcher {
    /// Ascending.
    addresses: Vec<Address>,
    /// Ascending at each position.
    topics: Vec<Vec<B256>>,
    /// Each list by itself must have one that the bloom contains. Empty lists, which match anything, are left out.
    blooms: Vec<Vec<Bloom>>,
}

impl Matcher {
    fn new(mut addresses: Vec<Address>, mut topics: Vec<Vec<B256>>) -> Self {
        addresses.sort_unstable();
        for any in &mut topics {
            any.sort_unstable();
        }
        let of_addresses = addresses.iter().map(|address| bits(address.as_slice())).collect();
        let of_topics = topics.iter().map(|any| any.iter().map(|topic| bits(topic.as_slice())).collect());
        let blooms: Vec<Vec<Bloom>> = std::iter::once(of_addresses).chain(of_topics).collect();
        let blooms = blooms.into_iter().filter(|any| !any.is_empty()).collect();
        Self { addresses, topics, blooms }
    }

    /// Whether logs with this bloom may match.
    fn may_match(&self, bloom: &Bloom) -> bool {
        self.blooms.iter().all(|any| any.iter().any(|bits| bloom.contains(bits)))
    }

    fn matches(&self, log: &Log) -> bool {
        let topics = log.topics();
        is_any(&self.addresses, &log.address)
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| is_any(any, topic))
    }
}

/// Whether an ascending list has the value; an empty one stands for all values.
fn is_any<T: Ord>(list: &[T], value: &T) -> bool {
    list.is_empty() || list.binary_search(value).is_ok()
}

fn bits(bytes: &[u8]) -> Bloom {
    BloomInput::Raw(bytes).into()
}

/// The answer as it grows.
struct Found {
    matcher: Matcher,
    json: Vec<u8>,
    count: u64,
}

impl Found {
    fn new(matcher: Matcher) -> Self {
        Self { matcher, json: vec![b'['], count: 0 }
    }

    /// Adds a block's matching logs; stops after the receipt with which there are more than `most` in all.
    fn add_block(&mut self, view: &View, found: &Executed, most: u64) {
        let block = &found.block;
        if !self.matcher.may_match(&block.header.logs_bloom) {
            return;
        }
        let context = BlockOfReceipt::new(view.spec(), block);
        let rows = (0..).zip(block.transactions.iter().zip(&block.receipts));
        for (index, (transaction, receipt)) in rows {
            if receipt.logs.is_empty() || !self.matcher.may_match(&receipt.bloom) {
                continue;
            }
            let hash = transaction.hash();
            for (log_index, log) in (receipt.first_log_index..).zip(&receipt.logs) {
                if self.matcher.matches(log) {
                    self.separate();
                    write_log(&mut self.json, &context, (&hash, index), log_index, log);
                }
            }
            if self.count > most {
                return;
            }
        }
    }

    fn separate(&mut self) {
        if self.count > 0 {
            self.json.push(b',');
        }
        self.count += 1;
    }

    fn into_json(mut self) -> Vec<u8> {
        self.json.push(b']');
        self.json
    }
}
