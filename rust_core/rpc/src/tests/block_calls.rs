//! Calls about a block for every method that accepts one. They are generated from the table, so that no new
//! method is missed.

use alloy_primitives::Address;
use foreseal_primitives::Block;
use foreseal_testkit::Contract;

use crate::{methods::method::Method, params::argument::Kind, request::table::methods};

use super::arguments::right_value;

/// Placeholder for the block in calls.
pub const TAG: &str = "TAG";

/// Methods whose result depends on more than the block, with the reason.
const APART: &[(&str, &str)] = &[
    ("foreseal_transactionStatus", "says whether the block is sealed"),
    ("eth_newFilter", "makes something new each time"),
];

/// Returns `true` if a call of the method can refer to a block or to a transaction of it.
fn names_a_block(method: &Method) -> bool {
    let apart = APART.iter().any(|(name, _)| *name == method.name);
    let named = |kind| matches!(kind, Kind::Block | Kind::Filter | Kind::Hash);
    !apart && method.arguments.iter().any(|argument| named(argument.kind))
}

/// Returns calls of every method that can refer to `block`, with every combination of argument values.
pub fn about(block: &Block, addresses: &[Address]) -> Vec<(&'static str, String)> {
    let selected = methods().filter(|method| names_a_block(method));
    selected.flat_map(|method| combinations(method, block, addresses)).collect()
}

fn combinations(
    method: &'static Method,
    block: &Block,
    addresses: &[Address],
) -> Vec<(&'static str, String)> {
    let mut lists = vec![String::new()];
    for argument in method.arguments {
        let values = values(argument.kind, block, addresses);
        let with = |list: &String| {
            let separator = if list.is_empty() { "" } else { "," };
            values.iter().map(|value| format!("{list}{separator}{value}")).collect::<Vec<_>>()
        };
        lists = lists.iter().flat_map(with).collect();
    }
    lists.into_iter().map(|list| (method.name, format!("[{list}]"))).collect()
}

/// Returns the values of an argument in a call about the block.
fn values(kind: Kind, block: &Block, addresses: &[Address]) -> Vec<String> {
    let quoted = |value: &dyn std::fmt::Display| format!("\"{value}\"");
    match kind {
        Kind::Block => vec![TAG.to_owned()],
        Kind::Filter => vec![
            format!("{{\"fromBlock\":{TAG},\"toBlock\":{TAG}}}"),
            format!("{{\"blockHash\":\"{}\"}}", block.hash),
        ],
        Kind::Hash => {
            let transactions = block.transactions.iter().map(|transaction| transaction.hash());
            std::iter::once(block.hash).chain(transactions).map(|hash| quoted(&hash)).collect()
        }
        Kind::Address => addresses.iter().map(|address| quoted(address)).collect(),
        Kind::Boolean => vec!["false".to_owned(), "true".to_owned()],
        Kind::Call => {
            let call = |contract: Contract| format!("{{\"to\":\"{}\"}}", contract.address());
            Contract::ALL.map(call).into()
        }
        Kind::Quantity => ["0x0", "0x1", "0x4"].map(|value| quoted(&value)).into(),
        Kind::Slot => ["0x0", "0x1", "0x2"].map(|value| quoted(&value)).into(),
        Kind::Slots => vec!["[\"0x0\",\"0x2\",\"0x77\"]".to_owned()],
        Kind::StorageRequests => {
            let one = |address: &Address| format!("\"{address}\":[\"0x0\",\"0x1\",\"0x2\"]");
            vec![format!("{{{}}}", addresses.iter().map(one).collect::<Vec<_>>().join(","))]
        }
        Kind::TraceCallConfig => vec![
            "{\"tracer\":\"callTracer\"}".to_owned(),
            "{\"tracer\":\"prestateTracer\",\"txIndex\":\"0x0\"}".to_owned(),
            format!("{{\"txIndex\":\"{:#x}\"}}", block.transactions.len().saturating_sub(1)),
        ],
        other => vec![right_value(other).to_owned()],
    }
}

#[test]
fn block_calls_cover_every_method_with_a_block() {
    let is_covered = |name: &str| methods().any(|method| method.name == name && names_a_block(method));
    for name in
        ["eth_getBalance", "eth_getProof", "eth_call", "eth_feeHistory", "debug_getRawBlock", "eth_getLogs"]
    {
        assert!(is_covered(name), "{name}");
    }
    assert!(methods().filter(|method| names_a_block(method)).count() > 25);
    for (name, _) in APART {
        assert!(!is_covered(name), "{name}");
    }
}
