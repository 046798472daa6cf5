//! RLP of nested Python lists (yellow paper, appendix B).

use alloy_rlp::Header;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyList, PyTuple};
use pyo3::{ffi, intern};

use crate::input::Input;

/// Deepest nesting accepted, in and out: it bounds the native stack. Nothing in the protocol exceeds ten.
const MAX_DEPTH: usize = 1024;

/// Initial buffer size in bytes, which fits most items: a transaction without a long payload.
const USUAL_BYTES: usize = 256;

/// Returns the RLP of `item`: bytes, a non-negative int (big-endian, no leading zeros; 0 is the empty
/// string), or a list or tuple of items.
///
/// Raises TypeError for any other type (also for a str, which could mean hex or UTF-8), ValueError for a
/// negative int or for nesting deeper than 1024.
#[pyfunction]
pub fn rlp_encode(item: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyBytes>> {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    encode(&item, &mut out, 0)?;
    Ok(PyBytes::new(item.py(), &out))
}

/// Returns the RLP of each of `items` by itself, in order. To join them into one RLP list, pass them to
/// `rlp_encode`.
///
/// Raises the exceptions of `rlp_encode`.
#[pyfunction]
pub fn rlp_encode_batch<'py>(
    py: Python<'py>,
    items: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    let mut encoded = Vec::with_capacity(items.len());
    for item in items {
        out.clear();
        encode(&item, &mut out, 0)?;
        encoded.push(PyBytes::new(py, &out));
    }
    Ok(encoded)
}

/// Returns the item that `data` encodes: bytes, or a list of items. Decoding is strict: only the canonical
/// encoding is accepted, and no bytes may follow the item.
///
/// Raises ValueError with the offset of the error, TypeError if `data` is neither bytes nor bytearray.
#[pyfunction]
pub fn rlp_decode<'py>(py: Python<'py>, data: Input<'_>) -> PyResult<Bound<'py, PyAny>> {
    Decoder::all(py, &data, || "data".to_owned())
}

/// Returns `rlp_decode` of each of `items`, in order.
///
/// Raises the exceptions of `rlp_decode`; the message names the item's index.
#[pyfunction]
pub fn rlp_decode_batch(py: Python<'_>, items: Vec<PyBackedBytes>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    items.iter().enumerate().map(|(i, data)| Decoder::all(py, data, || format!("items[{i}]"))).collect()
}

fn encode(item: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        encode_string(bytes.as_bytes(), out);
    } else if let Ok(list) = item.cast::<PyList>() {
        encode_list(list.iter(), out, depth)?;
    } else if let Ok(number) = item.cast::<PyInt>() {
        encode_int(number, out)?;
    } else if let Ok(tuple) = item.cast::<PyTuple>() {
        encode_list(tuple.iter(), out, depth)?;
    } else if let Ok(bytes) = item.cast::<PyByteArray>() {
        encode_string(&bytes.to_vec(), out);
    } else {
        let kind = item.get_type().name()?;
        return Err(PyTypeError::new_err(format!("item: {kind} has no RLP; give bytes, int, list or tuple")));
    }
    Ok(())
}

fn encode_string(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes {
        [byte] if *byte < alloy_rlp::EMPTY_STRING_CODE => out.push(*byte),
        _ => {
            Header { list: false, payload_length: bytes.len() }.encode(out);
            out.extend_from_slice(bytes);
        }
    }
}

/// Writes the payload, then inserts the header, whose length is only known then. This is cheaper than walking
/// the Python objects twice.
fn encode_list<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    out: &mut Vec<u8>,
    depth: usize,
) -> PyResult<()> {
    if depth == MAX_DEPTH {
        return Err(PyValueError::new_err(format!("item: nested deeper than {MAX_DEPTH}")));
    }
    let start = out.len();
    for item in items {
        encode(&item, out, depth + 1)?;
    }
    let header = Header { list: true, payload_length: out.len() - start };
    let mut prefix = [0; 9];
    let room = &mut prefix.as_mut_slice();
    header.encode(room);
    out.splice(start..start, prefix[..header.length()].iter().copied());
    Ok(())
}

fn encode_int(number: &Bound<'_, PyInt>, out: &mut Vec<u8>) -> PyResult<()> {
    let mut overflow = 0;
    // SAFETY: `number` is an int and `overflow` outlives the call; for an int this raises nothing.
    let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    if overflow < 0 || (overflow == 0 && small < 0) {
        return Err(PyValueError::new_err(format!(
            "item: {number} is negative; RLP has no negative integers"
        )));
    }
    if overflow == 0 {
        encode_string(strip_zeros(&small.to_be_bytes()), out);
        return Ok(());
    }
    let py = number.py();
    let bits: usize = number.call_method0(intern!(py, "bit_length"))?.extract()?;
    let arguments = (bits.div_ceil(8), intern!(py, "big"));
    let bytes = number.call_method1(intern!(py, "to_bytes"), arguments)?;
    encode_string(bytes.cast::<PyBytes>()?.as_bytes(), out);
    Ok(())
}

fn strip_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

/// A strict decoder of one buffer, from its start.
struct Decoder<'a> {
    data: &'a [u8],
    offset: usize,
}

impl Decoder<'_> {
    /// Decodes the whole buffer as one item. The error names `argument` and the offset.
    fn all<'py>(
        py: Python<'py>,
        data: &[u8],
        argument: impl FnOnce() -> String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut decoder = Decoder { data, offset: 0 };
        let result = decoder.item(py, data.len(), 0).and_then(|item| {
            if decoder.offset == data.len() {
                Ok(item)
            } else {
                Err("bytes after the end of the item".to_owned())
            }
        });
        result.map_err(|reason| {
            PyValueError::new_err(format!("{}: {reason} at offset {}", argument(), decoder.offset))
        })
    }

    /// Decodes the item at the offset, which ends at `end` at the latest.
    fn item<'py>(&mut self, py: Python<'py>, end: usize, depth: usize) -> Result<Bound<'py, PyAny>, String> {
        let mut after = &self.data[self.offset..end];
        let header = Header::decode(&mut after).map_err(|e| e.to_string())?;
        let start = end - after.len();
        let end = start + header.payload_length;
        if !header.list {
            self.offset = end;
            return Ok(PyBytes::new(py, &self.data[start..end]).into_any());
        }
        if depth == MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        self.offset = start;
        let mut items = Vec::new();
        while self.offset < end {
            items.push(self.item(py, end, depth + 1)?);
        }
        Ok(PyList::new(py, items).map_err(|e| e.to_string())?.into_any())
    }
}
