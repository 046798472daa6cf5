//! `earliest`, `finalized`, `safe` and `latest` are equivalent to their block numbers on every method that
//! accepts a block.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::Address;
use foreseal_chain::View;
use foreseal_testkit::{Contract, TransactionKinds, Workload};
use serde_json::{Value, json};

use crate::{params::argument::Kind, request::table::methods};

use super::{Bench, block_calls};

const TAGS: [&str; 4] = ["earliest", "finalized", "safe", "latest"];

fn addresses(bench: &Bench) -> Vec<Address> {
    let wallets = bench.wallets.iter().take(2).map(|wallet| wallet.address);
    wallets.chain(Contract::ALL.map(Contract::address)).collect()
}

/// Returns calls about a block that can refer to it by a tag.
fn queries(bench: &Bench, number: u64) -> Vec<(&'static str, String)> {
    let executed = bench.view().sealed(number).unwrap().expect("the block is sealed");
    let mut queries = block_calls::about(&executed.block, &addresses(bench));
    queries.push(("foreseal_getLogs", "[{\"filter\":{\"fromBlock\":TAG,\"toBlock\":TAG}}]".to_owned()));
    queries.push((
        "eth_call",
        format!("[{{\"to\":\"{}\"}},{{\"blockNumber\":TAG}}]", Contract::ALL[0].address()),
    ));
    queries.retain(|(_, params)| params.contains(block_calls::TAG));
    queries
}

fn answer(bench: &Bench, view: &Arc<View>, method: &str, params: &str, block: &str) -> String {
    let params = params.replace(block_calls::TAG, &format!("\"{block}\""));
    match bench.api.call(Some(view), method, params.as_bytes()) {
        // The cursor contains the filter as it was given.
        Ok(json) if method == "foreseal_getLogs" => {
            serde_json::from_slice::<Value>(&json).unwrap()["logs"].to_string()
        }
        Ok(json) => String::from_utf8(json.into()).unwrap(),
        Err(error) => format!("{error:?}"),
    }
}

/// Returns the logs of a filter that was created with the tag.
fn filtered(bench: &Bench, block: &str) -> Value {
    let filter = json!([{"fromBlock": block, "toBlock": block}]).to_string();
    let id = bench.call("eth_newFilter", &filter);
    let logs = bench.call("eth_getFilterLogs", &json!([id]).to_string());
    assert_eq!(bench.call("eth_uninstallFilter", &json!([id]).to_string()), json!(true));
    logs
}

/// Checks that every method returns for each tag the result for its block number. Returns the number of
/// comparisons.
fn agree(bench: &Bench, numbers: [u64; 4]) -> usize {
    let view = bench.view();
    let mut compared = 0;
    for (tag, number) in TAGS.into_iter().zip(numbers) {
        let block = bench.call("eth_getBlockByNumber", &json!([tag, false]).to_string());
        let hex = format!("{number:#x}");
        assert_eq!(block["number"], json!(hex), "{tag}");
        for (method, params) in queries(bench, number) {
            let by_tag = answer(bench, &view, method, &params, tag);
            assert_eq!(by_tag, answer(bench, &view, method, &params, &hex), "{method} {params} for {tag}");
            compared += 1;
        }
        assert_eq!(filtered(bench, tag), filtered(bench, &hex), "{tag}");
    }
    compared
}

fn seal(bench: &mut Bench, workload: &mut Workload, blocks: usize) {
    for _ in 0..blocks {
        for _ in 0..3 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    }
}

#[test]
fn tag_calls_cover_every_method_with_a_block_or_filter() {
    let bench = Bench::developing(2);
    let covered: BTreeSet<&str> = queries(&bench, 0).iter().map(|(method, _)| *method).collect();
    let named = |kind| matches!(kind, Kind::Block | Kind::Filter | Kind::LogQuery);
    let expected = methods().filter(|method| method.arguments.iter().any(|argument| named(argument.kind)));
    let expected: BTreeSet<&str> = expected.map(|method| method.name).collect();
    assert!(expected.len() > 20);
    let left: Vec<&&str> = expected.difference(&covered).collect();
    assert_eq!(left, [&"eth_newFilter"], "its logs are asked for one by one");
}

/// `finalized` trails by 4 blocks and `safe` by 2.
#[test]
fn tags_equal_their_numbers_when_set_and_across_an_unwind() {
    let mut bench = Bench::developing(8);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    let mut compared = agree(&bench, [0, 0, 0, 0]);
    seal(&mut bench, &mut workload, 2);
    compared += agree(&bench, [0, 0, 0, 2]);
    seal(&mut bench, &mut workload, 1);
    compared += agree(&bench, [0, 0, 1, 3]);
    seal(&mut bench, &mut workload, 5);
    compared += agree(&bench, [0, 4, 6, 8]);
    bench.call("foreseal_setFinality", "[{\"finalized\":\"0x5\",\"safe\":\"0x7\"}]");
    compared += agree(&bench, [0, 5, 7, 8]);
    seal(&mut bench, &mut workload, 3);
    compared += agree(&bench, [0, 5, 7, 11]);
    let before = bench.view();
    let remembered: Vec<(&str, String, &str, String)> = TAGS
        .into_iter()
        .zip([0, 5, 7, 11])
        .flat_map(|(tag, number)| {
            queries(&bench, number).into_iter().map(move |(m, params)| (m, params, tag))
        })
        .map(|(method, params, tag)| {
            let answered = answer(&bench, &before, method, &params, tag);
            (method, params, tag, answered)
        })
        .collect();
    bench.call("anvil_rollback", "[3]");
    compared += agree(&bench, [0, 5, 7, 8]);
    bench.call("anvil_rollback", "[2]");
    compared += agree(&bench, [0, 5, 6, 6]);
    bench.call("anvil_rollback", "[3]");
    compared += agree(&bench, [0, 3, 3, 3]);
    seal(&mut bench, &mut workload, 2);
    compared += agree(&bench, [0, 3, 3, 5]);
    // A reader that holds the view from before the unwind gets the same results, or an error that the view is
    // gone.
    for (method, params, tag, answered) in &remembered {
        let now = answer(&bench, &before, method, params, tag);
        assert!(now == *answered || now.contains("-32001"), "{method} {params} {tag}: {now}, was {answered}");
    }
    assert!(compared > 5_000, "{compared}");
}
