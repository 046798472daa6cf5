//! OpenRPC document of the methods.

mod development;
mod limits;
mod result_schemas;
mod results;
mod schemas;
mod subscriptions;

use crate::{
    argument::{Argument, Kind},
    json::Object,
    method::Method,
};

/// Returns the OpenRPC document of `methods`.
pub fn document(methods: impl Iterator<Item = &'static Method>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 << 10);
    let mut object = Object::open(&mut out);
    // Tools that use version 1 of `@open-rpc/schema-utils-js` reject newer versions.
    object.json("openrpc", "\"1.2.6\"");
    Object::open(object.name("info"))
        .json("title", "\"Foreseal\"")
        .json("version", concat!("\"", env!("CARGO_PKG_VERSION"), "\""))
        .close();
    object.list("methods", methods, write_method);
    let mut components = Object::open(object.name("components"));
    let mut kinds = Object::open(components.name("schemas"));
    for (name, schema) in schemas::COMPONENTS {
        match kind_called(name) {
            Some(kind) => {
                kinds.json(name, &format!("{{\"description\":\"{}\",{}", kind.words(), &schema[1..]))
            }
            None => kinds.json(name, schema),
        };
    }
    kinds.close();
    components.close();
    object.close();
    out
}

/// Returns the parameter kind that a component describes, or `None` if it is only a part of other components.
fn kind_called(name: &str) -> Option<Kind> {
    Kind::ALL.iter().copied().find(|kind| schemas::name(*kind) == name)
}

fn write_method(out: &mut Vec<u8>, method: &Method) {
    let text = |text: &str| format!("\"{text}\"");
    let result = results::result_of_method(method.name);
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
    object.json("x-access", &text(method.access.name())).json("x-runs", &text(method.mode_name()));
    object.list("x-limits", limits::limits_of_method(method.name), |out, name| {
        out.extend_from_slice(text(name).as_bytes());
    });
    if method.name == "eth_subscribe" {
        object.list("x-subscriptions", subscriptions::ROWS, write_subscription);
    }
    object.close();
}

fn write_subscription(out: &mut Vec<u8>, row: &subscriptions::SubscriptionDoc) {
    let mut object = Object::open(out);
    object.json("name", &format!("\"{}\"", row.name)).json("gives", &format!("\"{}\"", row.gives));
    if let Some(kind) = row.options {
        object.json("options", &format!("\"{}\"", schemas::name(kind)));
        object.json("leftOut", &format!("\"{}\"", row.left_out));
    }
    object.close();
}

fn write_argument(out: &mut Vec<u8>, argument: &Argument) {
    let mut object = Object::open(out);
    object.json("name", &format!("\"{}\"", argument.name));
    if !argument.left_out.is_empty() {
        object.json("description", &format!("\"left out: {}\"", argument.left_out));
    }
    object
        .json("required", if argument.required { "true" } else { "false" })
        .json("schema", &format!("{{\"$ref\":\"#/components/schemas/{}\"}}", schemas::name(argument.kind)))
        .close();
}

/// Returns the errors that a method may return.
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

    use std::collections::BTreeSet;

    use super::*;
    use crate::table::methods;

    fn document() -> Value {
        serde_json::from_slice(&super::document(methods())).unwrap()
    }

    #[test]
    fn the_document_lists_every_method_with_its_parameters() {
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
    fn every_optional_parameter_documents_its_default() {
        let silent: Vec<_> = methods()
            .flat_map(|method| method.arguments)
            .filter(|argument| argument.required != argument.left_out.is_empty())
            .collect();
        assert!(silent.is_empty(), "{silent:?}");
    }

    #[test]
    fn the_document_lists_the_served_subscriptions_and_their_parameters() {
        let schema: Value = serde_json::from_str(
            schemas::COMPONENTS.iter().find(|(name, _)| *name == "Subscription").unwrap().1,
        )
        .unwrap();
        let names: Vec<_> = subscriptions::ROWS.iter().map(|row| Value::from(row.name)).collect();
        assert_eq!(schema["enum"], Value::from(names));
        let hash = "0x".to_owned() + &"00".repeat(32);
        let cursor = format!(r#"{{"block":"0x1","index":"0x0","hash":"{hash}"}}"#);
        for row in subscriptions::ROWS {
            for (kind, example) in
                [(Kind::Boolean, "true"), (Kind::Filter, r#"{"topics":[]}"#), (Kind::Cursor, &cursor)]
            {
                let text = format!(r#"["{}",{example}]"#, row.name);
                let accepted = crate::subscriptions::accepts_params(text.as_bytes());
                // A filter ignores unknown fields, so it accepts a cursor as well.
                let fits =
                    row.options == Some(kind) || (row.options, kind) == (Some(Kind::Filter), Kind::Cursor);
                assert_eq!(accepted, fits, "{text}");
            }
        }
    }

    #[test]
    fn each_limit_belongs_to_an_existing_method_once() {
        let mut named: Vec<_> = limits::named().collect();
        assert!(named.iter().all(|name| crate::method(name).is_some()), "{named:?}");
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), count);
    }

    #[test]
    fn each_method_result_is_described_once() {
        let mut described: Vec<&str> = results::described().collect();
        let mut names: Vec<&str> = methods().map(|method| method.name).collect();
        described.sort_unstable();
        names.sort_unstable();
        assert_eq!(described, names);
    }

    /// Collects the names that `schema` references.
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
    fn every_component_is_defined_and_used() {
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
