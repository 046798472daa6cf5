//! Classification of response bodies.

use serde_json::Value;

/// Returns the error of a response to one call or a batch, or `None` if every entry is a result.
///
/// A body without the text `"error"` is not parsed: it is a result if it contains `"result"`. A large
/// response therefore costs only a search.
pub fn verdict(status: u16, body: &[u8]) -> Option<&'static str> {
    if status != 200 {
        return Some("an HTTP status other than 200");
    }
    if memchr::memmem::find(body, br#""error""#).is_none() {
        return memchr::memmem::find(body, br#""result""#).is_none().then_some("no result");
    }
    match serde_json::from_slice(body) {
        Err(_) => Some("no JSON"),
        Ok(Value::Array(answers)) if answers.is_empty() => Some("no result"),
        Ok(Value::Array(answers)) => answers.iter().find_map(failed),
        Ok(answer) => failed(&answer),
    }
}

fn failed(answer: &Value) -> Option<&'static str> {
    match (answer.get("error"), answer.get("result")) {
        (Some(error), _) if !error.is_null() => Some("an error"),
        (_, None) => Some("no result"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_from_all_else() {
        for (status, body, expected) in [
            (200, r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#, None),
            (200, r#"{"id":1,"result":{"error":"out of gas"}}"#, None),
            (200, r#"{"id":1,"result":null,"error":null}"#, None),
            (200, r#"[{"id":1,"result":"0x1"},{"id":2,"result":{"error":1}}]"#, None),
            (200, r#"[{"id":1,"result":"0x1"},{"id":2,"error":{"code":-32000}}]"#, Some("an error")),
            (200, r#"{"id":1,"error":{"code":-32000}}"#, Some("an error")),
            (200, r#"{"id":1,"error"#, Some("no result")),
            (200, r#"{"id":1,"error":"#, Some("no JSON")),
            (200, "{}", Some("no result")),
            (200, "", Some("no result")),
            (503, r#"{"id":1,"result":"0x1"}"#, Some("an HTTP status other than 200")),
        ] {
            assert_eq!(verdict(status, body.as_bytes()), expected, "{body}");
        }
    }
}
