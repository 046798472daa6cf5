//! Recorded exchanges of the execution API on its own chain of 54 blocks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_journal::RealDisk;
use foreseal_node::import_chain;
use foreseal_primitives::parse_genesis;
use serde_json::{Value, json};

use super::{Bench, settings};
use crate::Limits;

/// Returns the folder of the samples: `FORESEAL_EXECUTION_APIS`, or `shared/vectors/execution-apis` next to
/// the repository.
fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("FORESEAL_EXECUTION_APIS") {
        return Some(given.into());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("shared/vectors/execution-apis")).find(|found| found.is_dir())
}

/// Starts a node that only serves the recorded chain.
fn serve(folder: &Path) -> Bench {
    let datadir = tempfile::tempdir().unwrap();
    let genesis = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let mut settings = settings(datadir.path(), &[]);
    settings.genesis = Some(parse_genesis(&genesis).unwrap());
    settings.produce = false;
    import_chain(&settings, Arc::new(RealDisk), &folder.join("chain.rlp"), &mut |_| true).unwrap();
    Bench::open(datadir, settings, vec![], Limits::default())
}

/// Samples whose result differs by specification or convention, with the reason.
const OTHERWISE: &[(&str, &str)] =
    &[("filter-error-invalid-blockHash-and-range.io", "blockHash makes the range ignored")];

/// Marker of samples whose recorded result defines only the schema. Traces are compared in full regardless.
const FORM_ONLY: &str = "speconly: client response is only checked for schema validity";

/// Parses the requests and responses of a recorded exchange.
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

/// Returns the compared part of a response: error messages are specific to each node.
fn comparable(mut answer: Value) -> Value {
    if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("message");
    }
    answer
}

#[test]
fn recorded_exchanges_are_answered_as_recorded() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded exchanges beside the repository");
        return;
    };
    let bench = serve(&folder);
    let (mut tried, mut methods) = (0, 0);
    for method in sorted(&folder).filter(|path| path.is_dir()) {
        let name = method.file_name().unwrap().to_str().unwrap();
        assert!(crate::method(name).is_some(), "{name} is not served");
        methods += 1;
        for path in sorted(&method) {
            let text = fs::read_to_string(&path).unwrap();
            let otherwise = OTHERWISE.iter().any(|(name, _)| path.ends_with(name));
            for (request, response) in exchanges(&text) {
                let (got, recorded) = (comparable(answer(&bench, &request)), comparable(response));
                if text.contains(FORM_ONLY) && !name.starts_with("debug_trace") {
                    assert_eq!(got.get("error").is_some(), recorded.get("error").is_some());
                } else if otherwise {
                    assert_ne!(got, recorded, "{}: no longer another answer", path.display());
                } else {
                    assert_eq!(got, recorded, "{}", path.display());
                }
                tried += 1;
            }
        }
    }
    println!("{tried} exchanges of {methods} methods");
    assert!(tried >= 19, "only {tried} exchanges were found");
}

/// Returns the entries of a folder, sorted by name.
fn sorted(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter()
}
