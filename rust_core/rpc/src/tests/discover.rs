//! The OpenRPC document describes every method of the table.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    methods::{
        discover::{self, limits, results, schemas, subscriptions},
        subscriptions::accepts_params,
    },
    params::argument::Kind,
    request::table::{method, methods},
};

fn document() -> Value {
    serde_json::from_slice(&discover::document(methods())).unwrap()
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
    let schema: Value =
        serde_json::from_str(schemas::COMPONENTS.iter().find(|(name, _)| *name == "Subscription").unwrap().1)
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
            let accepted = accepts_params(text.as_bytes());
            // A filter ignores unknown fields, so it accepts a cursor as well.
            let fits = row.options == Some(kind) || (row.options, kind) == (Some(Kind::Filter), Kind::Cursor);
            assert_eq!(accepted, fits, "{text}");
        }
    }
}

#[test]
fn each_limit_belongs_to_an_existing_method_once() {
    let mut named: Vec<_> = limits::named().collect();
    assert!(named.iter().all(|name| method(name).is_some()), "{named:?}");
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
fn references(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "$ref" {
                    let name = value.as_str().unwrap().strip_prefix("#/components/schemas/");
                    names.insert(name.unwrap().to_owned());
                }
                references(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
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
