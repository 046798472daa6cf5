//! Subscriptions, for the OpenRPC document.

use crate::params::argument::Kind;

/// Stream: its name, its option, the default of the option, and the content of one message.
pub struct SubscriptionDoc {
    pub name: &'static str,
    pub options: Option<Kind>,
    pub left_out: &'static str,
    pub gives: &'static str,
}

const fn row(
    name: &'static str,
    options: Option<Kind>,
    left_out: &'static str,
    gives: &'static str,
) -> SubscriptionDoc {
    SubscriptionDoc { name, options, left_out, gives }
}

pub const ROWS: &[SubscriptionDoc] = &[
    row("newHeads", None, "", "the header of a sealed block"),
    row("logs", Some(Kind::Filter), "all logs", "a log of a sealed block"),
    row(
        "newPendingTransactions",
        Some(Kind::Boolean),
        "false",
        "a transaction that enters the pool: its hash, or all of it with true",
    ),
    row("syncing", None, "", "false, or the progress of a process that catches up"),
    row(
        "pendingLogs",
        Some(Kind::Filter),
        "all logs",
        "a log of a step, with removed set if the step is revoked",
    ),
    row(
        "newFlashblockTransactions",
        Some(Kind::Boolean),
        "false",
        "a transaction of a step: its hash, or all of it with its receipt and true",
    ),
    row("newFlashblocks", None, "", "the whole pending block, at each step"),
    row("foreseal_feed", Some(Kind::Cursor), "the newest step", "each step, and a heartbeat for each tick"),
];
