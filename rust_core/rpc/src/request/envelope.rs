//! Parser of JSON-RPC envelopes. It borrows from the body, and builds no JSON tree.
//!
//! [`parse_common`] parses envelopes in their common form. A body outside this subset (escapes,
//! non-ASCII characters, other members, notifications, other ids) may still be valid: [`general::parse_any`] accepts
//! every valid form. Parameters are validated by the method.

pub mod general;

/// One call, borrowed from the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorrowedCall<'a> {
    /// JSON of the id, as the response repeats it.
    pub id: &'a str,
    pub method: &'a str,
    /// JSON of the parameters: an array, if it is valid.
    pub params: &'a str,
}

/// Parsed body of a request in the common form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommonBody<'a> {
    Call(BorrowedCall<'a>),
    /// At least one call.
    Batch(Vec<BorrowedCall<'a>>),
}

/// Maximum number of digits of an id, so that it fits 64 bits.
const DIGITS: usize = 18;

/// Parses the calls in `body`.
///
/// Returns `None` if the body is outside the subset, nests more than `depth` arrays and objects, or is a
/// batch of more than `batch` calls.
pub fn parse_common(body: &[u8], depth: usize, batch: usize) -> Option<CommonBody<'_>> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.is_ascii())?;
    let mut reader = Reader { text, at: 0 };
    reader.space();
    let read = if reader.next_is(b'[') {
        CommonBody::Batch(reader.batch(depth.checked_sub(1)?, batch)?)
    } else {
        CommonBody::Call(reader.call(depth)?)
    };
    reader.space();
    (reader.at == text.len()).then_some(read)
}

/// Returns the position of the first quote, backslash or control character in ASCII `bytes`. Searches eight
/// bytes at a time.
fn string_end(bytes: &[u8]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let (words, rest) = bytes.as_chunks();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A subtraction sets the high bit of each byte that is less than the subtrahend. A borrow can falsify
        // only the bytes after it, so the first match is exact.
        let quotes = (word ^ (EACH * u64::from(b'"'))).wrapping_sub(EACH);
        let escapes = (word ^ (EACH * u64::from(b'\\'))).wrapping_sub(EACH);
        let controls = word.wrapping_sub(EACH * u64::from(b' '));
        let special = (quotes | escapes | controls) & HIGH;
        if special != 0 {
            return Some(8 * at + special.trailing_zeros() as usize / 8);
        }
    }
    let offset = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))?;
    Some(bytes.len() - rest.len() + offset)
}

/// Cursor over an ASCII text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Returns `true` if `byte` is next, and consumes it with the whitespace after it.
    fn next_is(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        if next {
            self.at += 1;
            self.space();
        }
        next
    }

    fn batch(&mut self, depth: usize, max_calls: usize) -> Option<Vec<BorrowedCall<'a>>> {
        let mut calls = Vec::with_capacity(max_calls.min(128));
        loop {
            calls.push(self.call(depth)?);
            if self.next_is(b']') {
                return Some(calls);
            }
            if !self.next_is(b',') || calls.len() == max_calls {
                return None;
            }
        }
    }

    /// Parses an object with only the four members, each at most once; the id is required.
    fn call(&mut self, depth: usize) -> Option<BorrowedCall<'a>> {
        let depth = depth.checked_sub(1)?;
        let (mut version, mut id, mut method, mut params) = (None, None, None, None);
        if !self.next_is(b'{') {
            return None;
        }
        loop {
            let name = self.string()?;
            self.space();
            if !self.next_is(b':') {
                return None;
            }
            let before = match name {
                "jsonrpc" => version.replace(self.string()?),
                "method" => method.replace(self.string()?),
                "id" => id.replace(self.id()?),
                "params" => params.replace(self.array(depth)?),
                _ => return None,
            };
            self.space();
            if before.is_some() {
                return None;
            }
            if self.next_is(b'}') {
                break;
            }
            if !self.next_is(b',') {
                return None;
            }
        }
        (version? == "2.0").then_some(BorrowedCall {
            id: id?,
            method: method?,
            params: params.unwrap_or("[]"),
        })
    }

    /// Parses a string without escapes, and returns it without its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let rest = self.text[self.at..].strip_prefix('"')?;
        let end = string_end(rest.as_bytes())?;
        self.at += end + 2;
        (rest.as_bytes()[end] == b'"').then(|| &rest[..end])
    }

    /// Parses a string, `null`, or a non-negative whole number.
    fn id(&mut self) -> Option<&'a str> {
        let (start, rest) = (self.at, &self.text[self.at..]);
        if rest.starts_with('"') {
            self.string()?;
        } else if rest.starts_with("null") {
            self.at += 4;
        } else {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || digits > DIGITS || (digits > 1 && rest.starts_with('0')) {
                return None;
            }
            self.at += digits;
        }
        Some(&self.text[start..self.at])
    }

    /// Scans from a bracket to its closing bracket, with at most `depth` open at once.
    fn array(&mut self, depth: usize) -> Option<&'a str> {
        let start = self.at;
        if self.peek() != Some(b'[') {
            return None;
        }
        let mut open = 0;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => open += 1,
                b']' | b'}' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open > depth {
                return None;
            }
            if open == 0 {
                return Some(&self.text[start..self.at]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{
        general::{BodyLimits, MethodCall, parse_any},
        *,
    };

    fn call(body: &str) -> Option<BorrowedCall<'_>> {
        match parse_common(body.as_bytes(), 64, 100)? {
            CommonBody::Call(plain) => Some(plain),
            CommonBody::Batch(_) => None,
        }
    }

    #[test]
    fn typical_client_requests_are_plain() {
        let expected = BorrowedCall { id: "1", method: "eth_call", params: r#"[{"to":"0x1"}, "latest"]"# };
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x1"}, "latest"]}"#,
            "\n{ \"method\" : \"eth_call\" , \"params\":[{\"to\":\"0x1\"}, \"latest\"] ,\"id\":1,\t\"jsonrpc\": \"2.0\"} \r\n",
        ] {
            assert_eq!(call(body), Some(expected), "{body}");
        }
        let nothing = r#"{"jsonrpc":"2.0","id":"a b","method":"m"}"#;
        assert_eq!(call(nothing), Some(BorrowedCall { id: "\"a b\"", method: "m", params: "[]" }));
        assert_eq!(call(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#).unwrap().id, "null");
    }

    #[test]
    fn unusual_requests_are_not_plain() {
        for body in [
            "",
            "{}",
            "[]",
            "[",
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":01,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":-1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1234567890123456789,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","other":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":["\u0041"]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":["é"]}"#,
            "{\"jsonrpc\":\"2.0\",\"id\":\"\t\",\"method\":\"m\"}",
            r#"{"jsonrpc":"2.0","id":1,"method":"m"},"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m",}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}{}"#,
        ] {
            assert_eq!(parse_common(body.as_bytes(), 64, 100), None, "{body}");
        }
        assert_eq!(parse_common(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 64, 100), None);
    }

    #[test]
    fn depth_and_batch_size_are_bounded() {
        let nested = |depth: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
                "[".repeat(depth),
                "]".repeat(depth)
            )
        };
        for depth in 1..6 {
            let (call, max_depth) = (nested(depth), depth + 1);
            assert!(parse_common(call.as_bytes(), max_depth, 1).is_some());
            assert!(parse_common(call.as_bytes(), max_depth - 1, 1).is_none());
            let batch = format!("[{call} , {call}]");
            assert!(
                matches!(parse_common(batch.as_bytes(), max_depth + 1, 2), Some(CommonBody::Batch(calls)) if calls.len() == 2)
            );
            assert!(parse_common(batch.as_bytes(), max_depth, 2).is_none());
            assert!(parse_common(batch.as_bytes(), max_depth + 1, 1).is_none());
        }
        assert!(parse_common(b"{}", 0, 0).is_none());
        assert!(parse_common(b"[]", 0, 0).is_none());
    }

    /// Generates bodies from fragments, most of them valid.
    fn body() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            Just("1"),
            Just("-1"),
            Just("007"),
            Just("1e3"),
            Just("null"),
            Just("\"2.0\""),
            Just("\"a\""),
            Just("[]"),
            Just("[1,\"]\",{\"a\":[2]}]"),
            Just("[1,]"),
            Just("{\"a\":1}"),
            Just("\"\\n\""),
            Just("\"é\""),
            Just(""),
        ];
        let name = prop_oneof![Just("jsonrpc"), Just("id"), Just("method"), Just("params"), Just("more")];
        let complete = (value.clone(), value.clone(), value.clone()).prop_map(|(id, method, params)| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}")
        });
        let members = prop::collection::vec((name, value), 0..6).prop_map(|members| {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            format!("{{{}}}", members.join(" ,"))
        });
        let one = prop_oneof![3 => complete, 1 => members];
        (prop::collection::vec(one, 1..4), any::<bool>(), any::<prop::sample::Index>(), 0..9_u8).prop_map(
            |(calls, batch, position, change)| {
                let mut text = if batch { format!("[{}]", calls.join(", ")) } else { calls[0].clone() };
                let at = position.index(text.len());
                if change == 0 && text.is_char_boundary(at) {
                    text.truncate(at);
                } else if change == 1 && text.is_char_boundary(at) {
                    text.insert(at, '"');
                }
                text
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Both parsers agree on every body in the common form.
        #[test]
        fn the_fast_and_the_general_parser_agree(text in body()) {
            let Some(read) = parse_common(text.as_bytes(), 64, 100) else { return Ok(()) };
            let (is_batch, calls) = match read {
                CommonBody::Call(call) => (false, vec![call]),
                CommonBody::Batch(calls) => (true, calls),
            };
            let limits = BodyLimits { values: 1000, depth: 64, batch: 100 };
            let Ok(parsed) = parse_any(text.as_bytes(), &limits) else {
                prop_assert!(calls.iter().any(|call| serde_json::from_str::<Value>(call.params).is_err()));
                return Ok(());
            };
            prop_assert_eq!(parsed.is_batch, is_batch);
            let parsed_calls: Vec<_> = parsed.calls.into_iter().map(|call| (call.id, call.request)).collect();
            let expected: Vec<_> = calls
                .iter()
                .map(|call| {
                    let request = MethodCall { method: call.method.to_owned(), params: call.params };
                    (Some(call.id.to_owned()), Ok(request))
                })
                .collect();
            prop_assert_eq!(parsed_calls, expected);
        }

        /// The search by eight bytes finds the same position as a search by single bytes.
        #[test]
        fn a_string_scan_stops_at_the_first_special_byte(text in "[ -~]{0,40}[\"\\\\\x00-\x7f]{0,3}[ -~]{0,9}") {
            let position = text.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ');
            prop_assert_eq!(string_end(text.as_bytes()), position);
        }

        /// Every parsed body agrees with a general JSON parser.
        #[test]
        fn the_envelope_parser_agrees_with_serde_json(text in body()) {
            let Some(read) = parse_common(text.as_bytes(), 64, 100) else { return Ok(()) };
            let (batch, calls) = match read {
                CommonBody::Call(call) => (false, vec![call]),
                CommonBody::Batch(calls) => (true, calls),
            };
            // Invalid JSON in parameters is detected later.
            if calls.iter().any(|call| serde_json::from_str::<Value>(call.params).is_err()) {
                return Ok(());
            }
            let envelope_calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let id: Value = serde_json::from_str(call.id).unwrap();
                    let params: Value = serde_json::from_str(call.params).unwrap();
                    json!({"jsonrpc": "2.0", "id": id, "method": call.method, "params": params})
                })
                .collect();
            let parsed: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parsed.is_array(), batch);
            let mut parsed = if batch { parsed.as_array().unwrap().clone() } else { vec![parsed] };
            for one in &mut parsed {
                one.as_object_mut().unwrap().entry("params").or_insert(json!([]));
            }
            prop_assert_eq!(parsed, envelope_calls);
        }
    }
}
