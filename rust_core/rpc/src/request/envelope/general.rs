//! Parser of envelopes in any valid form, for bodies outside the common one.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::errors::rpc_error::RpcError;

/// Limits of a request body.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Maximum number of JSON values, counted by brackets and commas.
    pub values: usize,
    /// Maximum nesting of arrays and objects, the envelope included.
    pub depth: usize,
    /// Maximum number of entries of a batch.
    pub batch: usize,
}

/// Nesting above which a body does not count as JSON, as RFC 8259 allows.
const MAX_PARSED_DEPTH: usize = 1024;

/// Request body, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedBody<'a> {
    pub is_batch: bool,
    pub calls: Vec<ParsedCall<'a>>,
}

/// One entry of a request body.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedCall<'a> {
    /// JSON of the id as the response repeats it; `None` for a notification.
    pub id: Option<String>,
    pub request: Result<MethodCall<'a>, RpcError>,
}

/// Method and parameters of a valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodCall<'a> {
    pub method: String,
    /// JSON array, unchanged.
    pub params: &'a str,
}

/// Parses `body` as JSON-RPC 2.0 defines it. Of members with the same name the last one counts.
///
/// # Errors
/// Returns the error of the whole body: -32700 if it is not JSON, -32005 if it exceeds a limit, -32600 if it is an
/// empty batch. Errors of single entries are in [`ParsedCall::request`].
pub fn parse_any<'a>(body: &'a [u8], limits: &BodyLimits) -> Result<ParsedBody<'a>, RpcError> {
    // Checked before parsing, whose time depends on the number of values more than on their size.
    if body.len() > limits.values && max_values(body) > limits.values {
        let max = limits.values;
        return Err(RpcError::over_limit("values", max, format!("the body has more than {max} JSON values")));
    }
    let text = std::str::from_utf8(body).map_err(|error| RpcError::parse(&error))?;
    check_json(text).map_err(|error| RpcError::parse(&error))?;
    let depth = depth_of(text);
    if depth > MAX_PARSED_DEPTH {
        return Err(RpcError::parse(&format_args!("nested deeper than {MAX_PARSED_DEPTH} levels")));
    }
    if depth > limits.depth {
        let max = limits.depth;
        return Err(RpcError::over_limit("depth", max, format!("JSON nested deeper than {max} levels")));
    }
    if !text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('[') {
        let raw = serde_json::from_str(text).map_err(|error| RpcError::parse(&error))?;
        return Ok(ParsedBody { is_batch: false, calls: vec![parse_call(raw)] });
    }
    let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| RpcError::parse(&error))?;
    if entries.is_empty() {
        return Err(RpcError::invalid_request("the batch is empty"));
    }
    if entries.len() > limits.batch {
        let max = limits.batch;
        return Err(RpcError::over_limit("batch", max, format!("a batch may have at most {max} requests")));
    }
    Ok(ParsedBody { is_batch: true, calls: entries.into_iter().map(parse_call).collect() })
}

/// Returns an upper bound of the number of JSON values: the brackets and commas.
fn max_values(body: &[u8]) -> usize {
    body.iter().filter(|byte| matches!(byte, b'[' | b'{' | b',')).count()
}

/// Checks that `text` is valid JSON.
fn check_json(text: &str) -> serde_json::Result<()> {
    serde_json::from_str::<IgnoredAny>(text)?;
    // Skipping a string does not check that the halves of surrogate pairs match.
    if text.contains("\\ud") || text.contains("\\uD") {
        serde_json::from_str::<Value>(text)?;
    }
    Ok(())
}

/// Returns the deepest nesting of arrays and objects in valid JSON.
fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Members of a request that JSON-RPC defines.
#[derive(Default)]
struct Members<'a> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key()? {
            match name {
                Member::Jsonrpc => members.version = Some(map.next_value()?),
                Member::Id => members.id = Some(map.next_value()?),
                Member::Method => members.method = Some(map.next_value()?),
                Member::Params => members.params = Some(map.next_value()?),
                Member::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

fn parse_call(raw: &RawValue) -> ParsedCall<'_> {
    let null = || Some("null".to_owned());
    let invalid = |id, message| ParsedCall { id, request: Err(RpcError::invalid_request(message)) };
    let members = raw.get().starts_with('{').then(|| serde_json::from_str::<Members<'_>>(raw.get()));
    let Some(Ok(members)) = members else {
        return invalid(null(), "the request must be an object");
    };
    let id = match members.id.map(|id| parse_id(id.get())).transpose() {
        Ok(id) => id,
        Err(message) => return invalid(null(), message),
    };
    if members.version.and_then(parse_string).as_deref() != Some("2.0") {
        return invalid(id.or_else(null), "jsonrpc must be \"2.0\"");
    }
    let Some(method) = members.method.and_then(parse_string) else {
        return invalid(id.or_else(null), "method must be a string");
    };
    match members.params.map_or("[]", RawValue::get) {
        params if params.starts_with('[') => ParsedCall { id, request: Ok(MethodCall { method, params }) },
        _ => ParsedCall { id, request: Err(RpcError::invalid_params("params must be an array")) },
    }
}

fn parse_string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the JSON of an id as the response repeats it, or a message if it is not a valid id.
fn parse_id(text: &str) -> Result<String, &'static str> {
    match text.as_bytes()[0] {
        b'"' => {
            let id: String = serde_json::from_str(text).map_err(|_| "id is not a valid string")?;
            Ok(Value::from(id).to_string())
        }
        b'n' => Ok(text.to_owned()),
        b'-' | b'0'..=b'9' if is_valid_number(text) => Ok(text.to_owned()),
        b'-' | b'0'..=b'9' => Err("an id that is an integer must fit into 64 bits"),
        _ => Err("id must be a string, a number or null"),
    }
}

/// Returns `true` for a number that clients can read back: any fraction or exponent, and integers of 64 bits.
fn is_valid_number(text: &str) -> bool {
    text.contains(['.', 'e', 'E']) || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BodyLimits = BodyLimits { values: 100, depth: 4, batch: 3 };

    fn only(body: &str) -> ParsedCall<'_> {
        let mut parsed = parse_any(body.as_bytes(), &LIMITS).unwrap();
        assert!(!parsed.is_batch);
        parsed.calls.pop().unwrap()
    }

    fn request<'a>(id: &str, method: &str, params: &'a str) -> ParsedCall<'a> {
        ParsedCall { id: Some(id.to_owned()), request: Ok(MethodCall { method: method.to_owned(), params }) }
    }

    #[test]
    fn ids_come_back_unchanged_or_are_rejected() {
        let body = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        for id in [
            "0",
            "-0",
            "-7",
            "9223372036854775807",
            "18446744073709551615",
            "1.5",
            "1.0",
            "1.50",
            "1e2",
            "-1E+02",
            "2.5e-3",
            "1e400",
            "0.10000000000000000001",
            "null",
            "\"\"",
            "\"ü\\\"\"",
        ] {
            assert_eq!(only(&body(id)), request(id, "m", "[]"));
        }
        assert_eq!(only(&body("\"\\u0041\"")).id.as_deref(), Some("\"A\""));
        for id in ["18446744073709551616", "-9223372036854775809", "[1]", "{}", "true"] {
            let body = body(id);
            let call = only(&body);
            assert_eq!((call.id.as_deref(), call.request.unwrap_err().code), (Some("null"), -32600), "{id}");
        }
    }

    #[test]
    fn escapes_unknown_members_and_repeated_members_are_accepted() {
        let body = "\r\n{\"\\u0069d\":1,\"id\":2,\"more\":[{}],\"jsonrpc\":\"2\\u002e0\",\"method\":\"é\\n\",\"params\":[1e3 , \"é\"]}\t";
        assert_eq!(only(body), request("2", "é\n", "[1e3 , \"é\"]"));
        let notification = only(r#"{"jsonrpc":"2.0","method":"m","params":[]}"#);
        assert_eq!((notification.id, notification.request.is_ok()), (None, true));
    }

    #[test]
    fn invalid_requests_have_a_code_and_an_id() {
        for (body, id, code) in [
            ("7", Some("null"), -32600),
            ("\"m\"", Some("null"), -32600),
            ("{}", Some("null"), -32600),
            (r#"{"id":1,"method":"m"}"#, Some("1"), -32600),
            (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, Some("1"), -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, Some("1"), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":["m"]}"#, Some("1"), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#, Some("1"), -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, Some("1"), -32602),
            (r#"{"jsonrpc":"2.0","method":"m","params":{}}"#, None, -32602),
        ] {
            let call = only(body);
            assert_eq!((call.id.as_deref(), call.request.unwrap_err().code), (id, code), "{body}");
        }
    }

    #[test]
    fn bodies_beyond_a_limit_are_rejected_completely() {
        let code = |body: &[u8]| parse_any(body, &LIMITS).map_or_else(|error| error.code, |_| 0);
        for body in ["", "{", "[1,]", "{'a':1}", "nul", "\"\\ud800\"", "[\"\\uD800\\u0041\"]", "1 2"] {
            assert_eq!(code(body.as_bytes()), -32700, "{body}");
        }
        assert_eq!(code(b"\xff"), -32700);
        assert_eq!(code("\"\\ud83d\\ude00\"".as_bytes()), 0);
        assert_eq!(code(b" [ ]"), -32600);
        assert_eq!((code(b"[1,2,3]"), code(b"[1,2,3,4]")), (0, -32005));
        assert_eq!((code(b"[[[[\"[[[\\\"[\"]]]]"), code(b"[[[[[]]]]]")), (0, -32005));
        let many = |count: usize| format!("[[0{}]]", ",0".repeat(count));
        assert_eq!((code(many(98).as_bytes()), code(many(99).as_bytes())), (0, -32005));
    }
}
