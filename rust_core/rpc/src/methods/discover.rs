//! OpenRPC document of the methods.

mod development;
pub mod limits;
mod result_schemas;
pub mod results;
pub mod schemas;
pub mod subscriptions;

use super::method::Method;
use crate::{
    json::object::Object,
    params::argument::{Argument, Kind},
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
