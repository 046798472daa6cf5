//! Recorded exchanges of the execution API on its own chain of 54 blocks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_journal::RealDisk;
use foreseal_node::{Development, Settings, import_chain};
use foreseal_primitives::parse_genesis;
use serde_json::{Value, json};

use super::{Bench, settings};
use crate::context::limits::Limits;

/// Returns the folder of the samples: `FORESEAL_EXECUTION_APIS`, or `shared/vectors/execution-apis` next to
/// the repository.
fn folder() -> Option<PathBuf> {
    if let Some(directory) = std::env::var_os("FORESEAL_EXECUTION_APIS") {
        return Some(directory.into());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("shared/vectors/execution-apis")).find(|folder| folder.is_dir())
}

/// Starts a node that only serves the recorded chain.
fn serve(folder: &Path, configure: impl FnOnce(&mut Settings)) -> Bench {
    let datadir = tempfile::tempdir().unwrap();
    let genesis = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let mut settings = settings(datadir.path(), &[]);
    settings.genesis = Some(parse_genesis(&genesis).unwrap());
    settings.produce = false;
    configure(&mut settings);
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
    match bench.try_call(request["method"].as_str().unwrap(), &params) {
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
    let bench = serve(&folder, |_| ());
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

/// Requests of the execution API's own samples of `testing_buildBlockV1`, after the parent's hash, and the hash
/// of the payload's block. The node that was recorded aims at a gas limit of 60 million.
const BUILT_BLOCKS: &[(&str, &str, &str)] = &[
    ("[]", "0x", "0x97902d120c93908349cdd209063dde05aca630b9a12bfb74a1f23d1d3fb46c9c"),
    (
        "[\"0x02f871870c72dd9d5e883e808201f48401a2158b825208947dcd17433742f4c0ca53122ab541d0ba67fc27df8203e880c080a0\
         fc16dc6d5a212a0b22f8186c8527d8771481a6c2a38b7f5e8a5143b8759f3363a028f2da4ff518f39d44fd7c8628def039a992aac\
         c807056af8478d543afac201c\"]",
        "0x746573745f6e616d65",
        "0xe837011730099d92012e3fb307cb587d9c2d766bab8bce845bd69bf6f004d803",
    ),
];
/// A transaction whose nonce is 999 where the sender's is 0.
const NONCE_TOO_HIGH: &str = "[\"0x02f873870c72dd9d5e883e8203e78201f48401a2158b825208947dcd17433742f4c0ca53122ab541d0ba\
    67fc27df8203e880c001a0c46b4838526f9ce894679e8b0a5dcf7ed1bacdf44669c76a26d22433666ca8c2a0773ae609f21ada5da2d7eec\
    cca9a49cf8199dedb9ad69ce92cf8a5a4b5a415a2\"]";

#[test]
fn built_payloads_have_the_recorded_hashes() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded exchanges beside the repository");
        return;
    };
    let bench = serve(&folder, |settings| {
        settings.development = Some(Development::default());
        settings.production.gas_limit = Some(60_000_000);
    });
    let head = bench.view().latest().block.hash;
    let attributes = "{\"parentBeaconBlockRoot\":\"0xcf8e0d4e9587369b2301d0790347320302cc0943d5a1884365149a42212e8822\",\
        \"prevRandao\":\"0x0000000000000000000000000000000000000000000000000000000000000000\",\
        \"suggestedFeeRecipient\":\"0x0000000000000000000000000000000000000000\",\"timestamp\":\"0x228\",\
        \"withdrawals\":[]}";
    let build = |transactions: &str, extra: &str| {
        let params = format!("[\"{head}\",{attributes},{transactions},\"{extra}\"]");
        bench.try_call("testing_buildBlockV1", &params)
    };
    for (transactions, extra, hash) in BUILT_BLOCKS {
        let built = build(transactions, extra).unwrap();
        assert_eq!(built["executionPayload"]["blockHash"], *hash, "{built}");
        let value = if *transactions == "[]" { "0x0" } else { "0xa037a0" };
        assert_eq!((&built["blockValue"], &built["executionRequests"]), (&json!(value), &json!([])));
    }
    let error = build(NONCE_TOO_HIGH, "0x").unwrap_err();
    assert_eq!((error.code, &*error.message), (-32000, "transactions[0]: nonce too high: have 999, want 0"));
    assert_eq!(bench.view().latest().block.hash, head);
}

/// Returns the entries of a folder, sorted by name.
fn sorted(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter()
}
