//! Writer of JSON objects and arrays, which appends to a byte buffer.

use super::hex::{Quantity, write_data, write_quantity};

/// Result for an object that does not exist, or of a method without a value.
pub const NULL: &[u8] = b"null";

/// Writer of a JSON object. Names and values must not need escapes, except in [`Self::text`].
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    separator: u8,
}

impl<'a> Object<'a> {
    /// Opens an object at the end of `out`.
    pub fn open(out: &'a mut Vec<u8>) -> Self {
        Self { out, separator: b'{' }
    }

    /// Writes a name; the caller writes the value.
    pub fn name(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.push(self.separator);
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.separator = b',';
        self.out
    }

    /// Writes a quantity in its shortest hex form.
    pub fn quantity(&mut self, name: &str, value: impl Quantity) -> &mut Self {
        write_quantity(self.name(name), value);
        self
    }

    /// Writes bytes in hex.
    pub fn data(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> &mut Self {
        write_data(self.name(name), bytes.as_ref());
        self
    }

    /// Writes a value that is JSON already, such as `null`, `true` or `[]`.
    pub fn json(&mut self, name: &str, json: &str) -> &mut Self {
        self.name(name).extend_from_slice(json.as_bytes());
        self
    }

    /// Writes a string and escapes it.
    pub fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.json(name, &serde_json::Value::from(text).to_string())
    }

    /// Writes a quantity, or no field if it is `None`.
    pub fn optional_quantity(&mut self, name: &str, value: Option<impl Quantity>) -> &mut Self {
        if let Some(value) = value {
            self.quantity(name, value);
        }
        self
    }

    /// Writes bytes in hex, or no field if they are `None`.
    pub fn optional_data(&mut self, name: &str, bytes: Option<impl AsRef<[u8]>>) -> &mut Self {
        if let Some(bytes) = bytes {
            self.data(name, bytes);
        }
        self
    }

    /// Writes bytes in hex, or `null`.
    pub fn nullable_data(&mut self, name: &str, bytes: Option<impl AsRef<[u8]>>) -> &mut Self {
        match bytes {
            Some(bytes) => self.data(name, bytes),
            None => self.json(name, "null"),
        }
    }

    /// Writes a list; `write` writes one item.
    pub fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Vec<u8>, T),
    ) -> &mut Self {
        write_list(self.name(name), items, write);
        self
    }

    /// Closes the object.
    pub fn close(&mut self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

/// Writes a JSON array; `write` writes one item.
pub fn write_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    let opened = out.len();
    for item in items {
        out.push(b',');
        write(out, item);
    }
    match out.get_mut(opened) {
        Some(first) => *first = b'[',
        None => out.push(b'['),
    }
    out.push(b']');
}
