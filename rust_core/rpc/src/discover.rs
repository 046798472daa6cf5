//! What is served: an OpenRPC document made from the method table, and the modules that the names make up.

#![allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]

mod development;
mod results;
mod schemas;

use std::collections::BTreeSet;

use crate::{Argument, Context, Error, Kind, Method, json::Object, methods, params::Params};

pub const METHODS: &[Method] =
    &[Method::threaded("rpc.discover", &[], discover), Method::inline("rpc_modules", &[], modules)];

fn discover(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(document(served(context)))
}

/// The first part of each name, with a version, as geth gives it.
fn modules(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let names: BTreeSet<&str> =
        served(context).filter_map(|method| method.name.split(['_', '.']).next()).collect();
    let mut out = Vec::with_capacity(256);
    let mut object = Object::open(&mut out);
    for name in names {
        object.json(name, "\"1.0\"");
    }
    object.close();
    Ok(out)
}

/// The methods that whoever asks may call.
fn served<'a>(context: &'a Context<'_>) -> impl Iterator<Item = &'static Method> + 'a {
    methods().filter(|method| context.admit(method).is_ok())
}

fn document(methods: impl Iterator<Item = &'static Method>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 << 10);
    let mut object = Object::open(&mut out);
    object.json("openrpc", "\"1.3.2\"");
    Object::open(object.name("info"))
        .json("title", "\"Foreseal\"")
        .json("version", concat!("\"", env!("CARGO_PKG_VERSION"), "\""))
        .close();
    object.list("methods", methods, write_method);
    let mut components = Object::open(object.name("components"));
    let mut kinds = Object::open(components.name("schemas"));
    for (name, schema) in schemas::COMPONENTS {
        kinds.json(name, schema);
    }
    kinds.close();
    components.close();
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
        .json("schema", &format!("{{\"$ref\":\"#/components/schemas/{}\"}}", schemas::name(argument.kind)))
        .close();
}

/// The errors that a method may answer with.
fn errors(method: &Method) -> Vec<(i64, &'static str)> {
    let takes = |kinds: &[Kind]| method.arguments.iter().any(|argument| kinds.contains(&argument.kind));
    let mut errors = vec![(-32002, "the node is starting or stopping"), (-32603, "internal error")];
    if !method.arguments.is_empty() {
        errors.push((-32602, "invalid params"));
    }
    if takes(&[Kind::Block, Kind::Filter, Kind::LogQuery]) {
        errors.push((-32001, "block not found"));
    }
    if takes(&[Kind::Filter, Kind::Slots, Kind::StorageRequests, Kind::Call, Kind::TraceConfig]) {
        errors.push((-32005, "limit exceeded"));
    }
    errors.extend(results::errors(method.name));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_slice(&super::document(methods())).unwrap()
    }

    #[test]
    fn the_document_lists_every_method_of_the_table_with_its_parameters() {
        let document = document();
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
            }
            assert!(entry["result"]["schema"].is_object() && entry["result"]["description"].is_string());
            let errors = entry["errors"].as_array().unwrap();
            let codes: BTreeSet<i64> = errors.iter().map(|error| error["code"].as_i64().unwrap()).collect();
            assert_eq!(codes.len(), errors.len(), "{}: a code stands once", method.name);
        }
    }

    #[test]
    fn results_are_described_of_the_methods_that_there_are_each_once() {
        let mut described: Vec<&str> = results::described().collect();
        let mut names: Vec<&str> = methods().map(|method| method.name).collect();
        described.sort_unstable();
        names.sort_unstable();
        assert_eq!(described, names);
    }

    /// Names that `schema` refers to.
    fn references(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "$ref" {
                        let name = value.as_str().unwrap().strip_prefix("#/components/schemas/");
                        found.insert(name.unwrap().to_owned());
                    }
                    references(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_component_is_there_and_used() {
        let document = document();
        let mut used = BTreeSet::new();
        references(&document, &mut used);
        let components = document["components"]["schemas"].as_object().unwrap();
        assert_eq!(components.len(), schemas::COMPONENTS.len(), "a name stands once");
        assert_eq!(used, components.keys().cloned().collect());
        for kind in Kind::ALL {
            assert!(components[schemas::name(*kind)].as_object().is_some_and(|schema| !schema.is_empty()));
        }
    }
}
