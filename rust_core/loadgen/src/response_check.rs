//! Classification of response bodies.

use serde_json::Value;

/// Returns the reason for which a response is not the expected one: a result, or an error with this code.
pub fn check_response(status: u16, body: &[u8], error_code: Option<i64>) -> Option<&'static str> {
    if status != 200 {
        return Some("an HTTP status other than 200");
    }
    match error_code {
        None => failure(body),
        Some(code) => (found_code(body) != Some(code)).then_some("another response than the expected error"),
    }
}

/// Returns the code of a response that is one error object.
fn found_code(body: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Value>(body).ok()?.get("error")?.get("code")?.as_i64()
}

/// Returns the error of a response to one call or a batch, or `None` if every entry is a result.
///
/// A body without the text `"error"` is not parsed: it is a result if it contains `"result"`. A large
/// response therefore costs only a search.
fn failure(body: &[u8]) -> Option<&'static str> {
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
    fn results_differ_from_errors() {
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
            assert_eq!(check_response(status, body.as_bytes(), None), expected, "{body}");
        }
    }

    #[test]
    fn only_the_expected_error_passes_where_one_is_expected() {
        let other = Some("another response than the expected error");
        for (status, body, expected) in [
            (200, r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#, None),
            (200, r#"{"id":1,"error":{"code":-32602,"message":"no"}}"#, other),
            (200, r#"{"id":1,"result":{"code":-32601}}"#, other),
            (200, "", other),
            (500, r#"{"id":1,"error":{"code":-32601}}"#, Some("an HTTP status other than 200")),
        ] {
            assert_eq!(check_response(status, body.as_bytes(), Some(-32_601)), expected, "{body}");
        }
    }
}
