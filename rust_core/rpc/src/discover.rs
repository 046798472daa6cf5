//! What is served: an OpenRPC document made from the method table, and the modules that the names make up.

#![allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]

mod results;

use std::{collections::BTreeSet, sync::LazyLock};

use crate::{Argument, Context, Error, Kind, Method, json::Object, methods, params::Params};

pub const METHODS: &[Method] =
    &[Method::inline("rpc.discover", &[], discover), Method::inline("rpc_modules", &[], modules)];

static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(document);

fn discover(_: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(DOCUMENT.clone())
}

/// The first part of each name, with a version, as geth gives it.
fn modules(_: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let names: BTreeSet<&str> = methods().filter_map(|method| method.name.split(['_', '.']).next()).collect();
    let mut out = Vec::with_capacity(256);
    let mut object = Object::open(&mut out);
    for name in names {
        object.json(name, "\"1.0\"");
    }
    object.close();
    Ok(out)
}

fn document() -> Vec<u8> {
    let mut out = Vec::with_capacity(64 << 10);
    let mut object = Object::open(&mut out);
    object.json("openrpc", "\"1.3.2\"");
    Object::open(object.name("info"))
        .json("title", "\"Foreseal\"")
        .json("version", concat!("\"", env!("CARGO_PKG_VERSION"), "\""))
        .close();
    object.list("methods", methods(), write_method);
    object.close();
    out
}

fn write_method(out: &mut Vec<u8>, method: &Method) {
    let text = |text: &str| format!("\"{text}\"");
    let result = results::of(method.name);
    let mut object = Object::open(out);
    object.json("name", &text(method.name)).json("paramStructure", "\"by-position\"").list(
        "params",
        method.arguments,
        write_argument,
    );
    Object::open(object.name("result"))
        .json("name", "\"result\"")
        .json("description", &text(result.description))
        .json("schema", result.schema)
        .close();
    object.list("errors", errors(method), |out, (code, message)| {
        Object::open(out).json("code", &code.to_string()).json("message", &text(message)).close();
    });
    object.close();
}

fn write_argument(out: &mut Vec<u8>, argument: &Argument) {
    Object::open(out)
        .json("name", &format!("\"{}\"", argument.name))
        .json("required", if argument.required { "true" } else { "false" })
        .json("schema", &schema(argument.kind))
        .close();
}

const QUANTITY: &str = r#"{"type":"string","pattern":"^0x(0|[1-9a-fA-F][0-9a-fA-F]*)$"}"#;
const DATA: &str = r#"{"type":"string","pattern":"^0x([0-9a-fA-F]{2})*$"}"#;
const HASH: &str = r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{64}$"}"#;
const ADDRESS: &str = r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{40}$"}"#;
const STORAGE_KEY: &str = r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{1,64}$"}"#;

/// What values of a kind look like (JSON Schema).
fn schema(kind: Kind) -> String {
    match kind {
        Kind::Address => ADDRESS.to_owned(),
        Kind::Block => {
            let tags = r#"{"enum":["latest","pending","safe","finalized","earliest"]}"#;
            let object = r#"{"type":"object","properties":{"blockNumber":{},"blockHash":{},"requireCanonical":{"type":"boolean"},"flashblockIndex":{}}}"#;
            format!(r#"{{"anyOf":[{tags},{QUANTITY},{HASH},{object}]}}"#)
        }
        Kind::Boolean => r#"{"type":"boolean"}"#.to_owned(),
        Kind::Data => DATA.to_owned(),
        Kind::Hash => HASH.to_owned(),
        Kind::Milliseconds => format!(r#"{{"anyOf":[{{"type":"integer","minimum":1}},{QUANTITY}]}}"#),
        Kind::Percentiles => {
            r#"{"type":"array","maxItems":100,"items":{"type":"number","minimum":0,"maximum":100}}"#
                .to_owned()
        }
        Kind::Quantity => QUANTITY.to_owned(),
        Kind::Slot => STORAGE_KEY.to_owned(),
        Kind::Slots => format!(r#"{{"type":"array","items":{STORAGE_KEY}}}"#),
        Kind::StorageRequests => {
            format!(r#"{{"type":"object","additionalProperties":{{"type":"array","items":{STORAGE_KEY}}}}}"#)
        }
        Kind::Call | Kind::Filter => r#"{"type":"object"}"#.to_owned(),
        // Objects with options of their own; the method says what is wrong in them.
        _ => "{}".to_owned(),
    }
}

/// The errors that a method may answer with.
fn errors(method: &Method) -> Vec<(i64, &'static str)> {
    let takes = |kinds: &[Kind]| method.arguments.iter().any(|argument| kinds.contains(&argument.kind));
    let mut errors = vec![(-32002, "the node is starting or stopping"), (-32603, "internal error")];
    if !method.arguments.is_empty() {
        errors.push((-32602, "invalid params"));
    }
    if takes(&[Kind::Block, Kind::Filter]) {
        errors.push((-32001, "block not found"));
    }
    if takes(&[Kind::Filter, Kind::Slots, Kind::StorageRequests, Kind::Call]) {
        errors.push((-32005, "limit exceeded"));
    }
    errors.extend(results::errors(method.name));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_document_lists_every_method_of_the_table_with_its_parameters() {
        let document: Value = serde_json::from_slice(&document()).unwrap();
        let listed = document["methods"].as_array().unwrap();
        assert_eq!(listed.len(), methods().count());
        for (method, entry) in methods().zip(listed) {
            assert_eq!(entry["name"], method.name);
            let params = entry["params"].as_array().unwrap();
            assert_eq!(params.len(), method.arguments.len());
            for (argument, param) in method.arguments.iter().zip(params) {
                assert_eq!(
                    (&param["name"], &param["required"]),
                    (&argument.name.into(), &argument.required.into())
                );
                assert!(param["schema"].is_object());
            }
            assert!(entry["result"]["schema"].is_object() && entry["result"]["description"].is_string());
            assert!(entry["errors"].as_array().unwrap().iter().all(|error| error["code"].is_i64()));
        }
    }

    #[test]
    fn every_result_that_is_described_is_described_once() {
        let names: Vec<&str> = results::described().collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(once.len(), names.len());
        let known = |name: &str| methods().any(|method| method.name == name);
        assert!(names.iter().filter(|name| known(name)).count() > 45);
    }

    #[test]
    fn modules_are_the_first_parts_of_names() {
        let names: BTreeSet<&str> =
            methods().filter_map(|method| method.name.split(['_', '.']).next()).collect();
        for name in ["eth", "net", "web3", "txpool", "debug", "rpc", "foreseal", "base"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
