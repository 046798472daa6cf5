//! Recorded exchanges of the execution API over its own chain of 54 blocks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_journal::RealDisk;
use foreseal_node::import_chain;
use foreseal_types::parse_genesis;
use serde_json::{Value, json};

use super::{Bench, settings};
use crate::Limits;

/// Folder of the samples: `FORESEAL_EXECUTION_APIS`, or `shared/vectors/execution-apis` beside the repository.
fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("FORESEAL_EXECUTION_APIS") {
        return Some(given.into());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("shared/vectors/execution-apis")).find(|found| found.is_dir())
}

/// A node that only serves the recorded chain.
fn serve(folder: &Path) -> Bench {
    let datadir = tempfile::tempdir().unwrap();
    let genesis = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let mut settings = settings(datadir.path(), &[]);
    settings.genesis = Some(parse_genesis(&genesis).unwrap());
    settings.produce = false;
    import_chain(&settings, Arc::new(RealDisk), &folder.join("chain.rlp"), &mut |_| true).unwrap();
    Bench::open(datadir, settings, vec![], Limits::default())
}

/// Samples that the specification or the conventions answer in another way, with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("get-storage-default-block.io", "the block is required"),
    ("get-nonce-default-block.io", "the block is required"),
    ("filter-error-invalid-blockHash-and-range.io", "blockHash makes the range ignored"),
    ("get-storage-invalid-key-too-large.io", "the message is our own"),
    ("get-storage-invalid-key.io", "the message is our own"),
];

/// Requests and responses of a recorded exchange.
fn exchanges(text: &str) -> Vec<(Value, Value)> {
    let lines = |mark: &str| -> Vec<Value> {
        let json = text.lines().filter_map(|line| line.strip_prefix(mark));
        json.map(|json| serde_json::from_str(json).unwrap()).collect()
    };
    lines(">> ").into_iter().zip(lines("<< ")).collect()
}

fn answer(bench: &Bench, request: &Value) -> Value {
    let params = request.get("params").map(Value::to_string).unwrap_or_default();
    match bench.try_ask(request["method"].as_str().unwrap(), &params) {
        Ok(result) => json!({"jsonrpc":"2.0","id":request["id"],"result":result}),
        Err(error) => {
            let mut object = json!({"code":error.code,"message":error.message});
            if let Some(data) = error.data {
                object["data"] = serde_json::from_slice(&data).unwrap();
            }
            json!({"jsonrpc":"2.0","id":request["id"],"error":object})
        }
    }
}

#[test]
fn recorded_exchanges_are_answered_as_recorded() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded exchanges beside the repository");
        return;
    };
    let bench = serve(&folder);
    let mut tried = 0;
    for method in crate::methods() {
        let Ok(files) = fs::read_dir(folder.join(method.name)) else { continue };
        for file in files {
            let path = file.unwrap().path();
            if OTHERWISE.iter().any(|(name, _)| path.ends_with(name)) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for (request, response) in exchanges(&text) {
                let answer = answer(&bench, &request);
                if text.contains("speconly: client response is only checked for schema validity") {
                    assert_eq!(answer.get("error").is_some(), response.get("error").is_some());
                } else {
                    assert_eq!(answer, response, "{}", path.display());
                }
                tried += 1;
            }
        }
    }
    eprintln!("{tried} exchanges");
    assert!(tried >= 13, "only {tried} exchanges were found");
}
