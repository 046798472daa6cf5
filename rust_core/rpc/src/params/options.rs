//! Objects of options, such as tracer configurations and overrides.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    value::{entries, field, needed},
};

/// Members of an object of options, found by their names in any case.
///
/// Clients in Go send the names of their structs' fields, such as `TracerConfig`: the decoder of Go ignores case.
#[derive(Debug)]
pub struct Options<'a> {
    members: Vec<(&'static str, &'a RawValue)>,
}

impl<'a> Options<'a> {
    /// Reads an object whose members have names in `names`.
    ///
    /// # Errors
    ///
    /// Returns an error for an unknown member, whose effect the caller would miss, and for names that differ only in
    /// case.
    pub fn read(raw: &'a RawValue, names: &[&'static str]) -> Result<Self, Invalid> {
        let known = |text: &str| {
            let name = names.iter().find(|name| name.eq_ignore_ascii_case(text));
            name.copied().ok_or(Reason::UnknownMember)
        };
        Ok(Self { members: entries(raw, known, Ok)? })
    }

    /// Returns the JSON of a member; `None` if it is absent or `null`.
    pub fn raw(&self, name: &'static str) -> Option<&'a RawValue> {
        let member = self.members.iter().find(|(key, _)| *key == name);
        member.map(|(_, raw)| *raw).filter(|raw| raw.get() != "null")
    }

    /// Parses a member; `None` if it is absent or `null`.
    pub fn get<T: Param<'a>>(&self, name: &'static str) -> Result<Option<T>, Invalid> {
        field(self.raw(name), name)
    }

    /// Parses a required member.
    pub fn needed<T: Param<'a>>(&self, name: &'static str) -> Result<T, Invalid> {
        needed(self.raw(name), name)
    }

    /// Parses a member that is `false` by default.
    pub fn flag(&self, name: &'static str) -> Result<bool, Invalid> {
        Ok(self.get(name)?.unwrap_or(false))
    }

    /// Parses a member with a string.
    pub fn text(&self, name: &'static str) -> Result<Option<Cow<'a, str>>, Invalid> {
        self.raw(name)
            .map(|raw| super::value::text(raw).map_err(|invalid| invalid.in_field(name)))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["tracer", "tracerConfig", "limit"];

    fn read(json: &str) -> Result<Options<'_>, Invalid> {
        Options::read(serde_json::from_str(json).unwrap(), NAMES)
    }

    #[test]
    fn names_match_in_any_case() {
        for name in ["tracerConfig", "TracerConfig", "tracerconfig", "TRACERCONFIG"] {
            let json = format!("{{\"Limit\":null,\"{name}\":true}}");
            let options = read(&json).unwrap();
            assert!(options.flag("tracerConfig").unwrap(), "{name}");
            assert!(options.raw("limit").is_none() && options.text("tracer").unwrap().is_none());
        }
    }

    #[test]
    fn unknown_and_repeated_names_are_rejected() {
        for (json, path, reason) in [
            ("[]", "", Reason::NotObject),
            (r#"{"tracers":1}"#, ".tracers", Reason::UnknownMember),
            (r#"{"":null}"#, ".", Reason::UnknownMember),
            (r#"{"tracer":1,"tracer":1}"#, ".tracer", Reason::Twice),
            (r#"{"tracer":1,"limit":2,"Tracer":null}"#, ".Tracer", Reason::Twice),
        ] {
            let expected = Invalid { path: path.to_owned(), reason };
            assert_eq!(read(json).unwrap_err(), expected, "{json}");
        }
    }
}
