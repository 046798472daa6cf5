//! JSON Schemas of the results.

pub const QUANTITY: &str = r#"{"type":"string","pattern":"^0x(0|[1-9a-f][0-9a-f]*)$"}"#;
pub const DATA: &str = r#"{"type":"string","pattern":"^0x([0-9a-f]{2})*$"}"#;
pub const HASH: &str = r#"{"type":"string","pattern":"^0x[0-9a-f]{64}$"}"#;
pub const OBJECT: &str = r#"{"type":"object"}"#;
pub const OBJECT_OR_NULL: &str = r#"{"type":["object","null"]}"#;
pub const ARRAY: &str = r#"{"type":"array"}"#;
pub const ARRAY_OR_NULL: &str = r#"{"type":["array","null"]}"#;
pub const QUANTITY_OR_NULL: &str = r#"{"type":["string","null"]}"#;
pub const TEXT: &str = r#"{"type":"string"}"#;
pub const OBJECT_OR_ARRAY: &str = r#"{"type":["object","array"]}"#;
pub const BOOLEAN: &str = r#"{"type":"boolean"}"#;
pub const NUMBER: &str = r#"{"type":"integer"}"#;
pub const NUMBER_OR_NULL: &str = r#"{"type":["integer","null"]}"#;
pub const HASH_OR_NULL: &str = r#"{"type":["string","null"],"pattern":"^0x[0-9a-f]{64}$"}"#;
pub const NULL: &str = r#"{"type":"null"}"#;

/// Description of a result, its schema, and the methods with this result.
pub type ResultSchema = (&'static str, &'static str, &'static [&'static str]);
