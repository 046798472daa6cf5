//! Incremental parser of HTTP/1.1 responses (RFC 9112). Each call receives all bytes since the start of the
//! response.

use std::ops::Range;

/// Maximum size of a head in bytes, and maximum number of header fields.
const MAX_HEAD_SIZE: usize = 64 << 10;
const MAX_HEADER_LINES: usize = 100;
/// Maximum size in bytes of a chunk-size line, and of the trailer section.
const MAX_LINE_SIZE: usize = 1 << 10;
const MAX_TRAILER_SIZE: usize = 8 << 10;
/// Maximum size of a body in bytes.
const MAX_BODY_SIZE: usize = 1 << 30;

/// Error for bytes that are not a valid HTTP/1.1 response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidResponse {
    #[error("the head is not HTTP/1.1: {0}")]
    Head(httparse::Error),
    #[error("a head of more than {MAX_HEAD_SIZE} bytes")]
    LongHead,
    #[error("a Content-Length that is not a number, or two of them")]
    Length,
    #[error("a Transfer-Encoding other than `chunked`, or together with a Content-Length")]
    Encoding,
    #[error("a malformed chunk")]
    Chunk,
    #[error("a body of more than {MAX_BODY_SIZE} bytes")]
    Large,
    #[error("bytes after the response")]
    More,
    #[error("the connection was closed within a response")]
    Cut,
}

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// Length of the response in bytes, including the head.
    pub end: usize,
    /// `true` if the connection may be reused.
    pub keeps_alive: bool,
    body: Option<Range<usize>>,
}

#[derive(Clone, Copy, Debug)]
enum Framing {
    Length(usize),
    Chunked,
    ToTheEnd,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    status: u16,
    end: usize,
    framing: Framing,
    keeps_alive: bool,
}

/// Parser of consecutive responses.
#[derive(Debug, Default)]
pub struct ResponseReader {
    head: Option<Head>,
    /// Offset of the next chunk-size line.
    at: usize,
    /// Concatenated chunk data.
    joined: Vec<u8>,
}

impl ResponseReader {
    /// Returns the response at the start of `data` once it is complete. `ended` means that no more bytes will
    /// arrive.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidResponse`] if the bytes are not a valid response or the connection ended inside one.
    pub fn read(&mut self, data: &[u8], ended: bool) -> Result<Option<Response>, InvalidResponse> {
        let Some(head) = self.head(data)? else {
            return if ended && !data.is_empty() { Err(InvalidResponse::Cut) } else { Ok(None) };
        };
        let whole = match head.framing {
            Framing::Length(length) => {
                let end = head.end + length;
                (data.len() >= end).then_some((end, Some(head.end..end)))
            }
            Framing::Chunked => self.chunks(data)?.map(|end| (end, None)),
            Framing::ToTheEnd if data.len() - head.end > MAX_BODY_SIZE => return Err(InvalidResponse::Large),
            Framing::ToTheEnd => ended.then_some((data.len(), Some(head.end..data.len()))),
        };
        match whole {
            None if ended => Err(InvalidResponse::Cut),
            None => Ok(None),
            Some((end, body)) => {
                let keeps_alive = head.keeps_alive && !ended;
                Ok(Some(Response { status: head.status, end, keeps_alive, body }))
            }
        }
    }

    /// Returns the total size of the response in bytes if its length is declared, otherwise 0.
    pub fn expected(&self) -> usize {
        match self.head {
            Some(Head { end, framing: Framing::Length(length), .. }) => end + length,
            _ => 0,
        }
    }

    /// Returns the body of a response that was parsed from `data`.
    pub fn body<'a>(&'a self, answer: &Response, data: &'a [u8]) -> &'a [u8] {
        answer.body.as_ref().map_or(&self.joined[..], |range| data.get(range.clone()).unwrap_or_default())
    }

    /// Prepares the parser for the next response.
    pub fn reset(&mut self) {
        self.head = None;
        self.at = 0;
        self.joined.clear();
    }

    fn head(&mut self, data: &[u8]) -> Result<Option<Head>, InvalidResponse> {
        if self.head.is_none() {
            self.head = parse_head(data)?;
            self.at = self.head.map_or(0, |head| head.end);
        }
        Ok(self.head)
    }

    /// Consumes complete chunks and returns the end of the response once the trailer section is complete.
    fn chunks(&mut self, data: &[u8]) -> Result<Option<usize>, InvalidResponse> {
        loop {
            let rest = data.get(self.at..).unwrap_or_default();
            let Some(line) = line(rest, MAX_LINE_SIZE)? else { return Ok(None) };
            let size = chunk_size(line)?;
            let start = line.len() + 2;
            if size == 0 {
                return Ok(trailer(&rest[start..])?.map(|length| self.at + start + length));
            }
            if self.joined.len() + size > MAX_BODY_SIZE {
                return Err(InvalidResponse::Large);
            }
            let Some(end) = rest.get(start + size..start + size + 2) else { return Ok(None) };
            if end != b"\r\n" {
                return Err(InvalidResponse::Chunk);
            }
            self.joined.extend_from_slice(&rest[start..start + size]);
            self.at += start + size + 2;
        }
    }
}

/// Parses the head once it is complete. Skips interim responses (1xx except 101).
fn parse_head(data: &[u8]) -> Result<Option<Head>, InvalidResponse> {
    let mut start = 0;
    loop {
        let bytes = &data[start..];
        let mut lines = [httparse::EMPTY_HEADER; MAX_HEADER_LINES];
        let mut response = httparse::Response::new(&mut lines);
        let length = match response.parse(bytes).map_err(InvalidResponse::Head)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial if bytes.len() > MAX_HEAD_SIZE => {
                return Err(InvalidResponse::LongHead);
            }
            httparse::Status::Partial => return Ok(None),
        };
        let status = response.code.unwrap_or_default();
        if length > MAX_HEAD_SIZE {
            return Err(InvalidResponse::LongHead);
        }
        start += length;
        if (100..200).contains(&status) && status != 101 {
            if start > MAX_HEAD_SIZE {
                return Err(InvalidResponse::LongHead);
            }
            continue;
        }
        let framing = framing(status, response.headers)?;
        let keeps_alive = keeps_alive(response.version == Some(1), response.headers)
            && !matches!(framing, Framing::ToTheEnd);
        return Ok(Some(Head { status, end: start, framing, keeps_alive }));
    }
}

fn framing(status: u16, lines: &[httparse::Header<'_>]) -> Result<Framing, InvalidResponse> {
    let mut length: Option<usize> = None;
    let mut chunked = false;
    for line in lines {
        if line.name.eq_ignore_ascii_case("content-length") {
            if length.is_some() || line.value.is_empty() || !line.value.iter().all(u8::is_ascii_digit) {
                return Err(InvalidResponse::Length);
            }
            let number = std::str::from_utf8(line.value).ok().and_then(|digits| digits.parse::<usize>().ok());
            length = Some(number.filter(|number| *number <= MAX_BODY_SIZE).ok_or(InvalidResponse::Large)?);
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || !line.value.eq_ignore_ascii_case(b"chunked") {
                return Err(InvalidResponse::Encoding);
            }
            chunked = true;
        }
    }
    match (chunked, length) {
        (true, Some(_)) => Err(InvalidResponse::Encoding),
        _ if matches!(status, 101 | 204 | 304) => Ok(Framing::Length(0)),
        (true, None) => Ok(Framing::Chunked),
        (false, Some(length)) => Ok(Framing::Length(length)),
        (false, None) => Ok(Framing::ToTheEnd),
    }
}

/// Returns `true` if the connection persists (RFC 9112, section 9.3).
fn keeps_alive(newest: bool, lines: &[httparse::Header<'_>]) -> bool {
    let has_option = |option: &str| {
        lines.iter().filter(|line| line.name.eq_ignore_ascii_case("connection")).any(|line| {
            line.value
                .split(|byte| *byte == b',')
                .any(|part| part.trim_ascii().eq_ignore_ascii_case(option.as_bytes()))
        })
    };
    if newest { !has_option("close") } else { has_option("keep-alive") && !has_option("close") }
}

/// Returns the first line without its CRLF once it is complete.
fn line(data: &[u8], longest: usize) -> Result<Option<&[u8]>, InvalidResponse> {
    let looked = &data[..data.len().min(longest)];
    match memchr::memchr(b'\n', looked) {
        Some(end) if end > 0 && looked[end - 1] == b'\r' => Ok(Some(&looked[..end - 1])),
        Some(_) => Err(InvalidResponse::Chunk),
        None if looked.len() == longest => Err(InvalidResponse::Chunk),
        None => Ok(None),
    }
}

/// Parses a chunk size. Ignores chunk extensions after a semicolon.
fn chunk_size(line: &[u8]) -> Result<usize, InvalidResponse> {
    let end = memchr::memchr(b';', line).unwrap_or(line.len());
    let digits = line[..end].trim_ascii_end();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(InvalidResponse::Chunk);
    }
    let number = std::str::from_utf8(digits).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
    number.filter(|number| *number <= MAX_BODY_SIZE).ok_or(InvalidResponse::Large)
}

/// Returns the length in bytes of the trailer section, including the empty line that ends it.
fn trailer(data: &[u8]) -> Result<Option<usize>, InvalidResponse> {
    let mut length = 0;
    while let Some(line) = line(&data[length..], MAX_LINE_SIZE)? {
        length += line.len() + 2;
        if line.is_empty() {
            return Ok(Some(length));
        }
        if length > MAX_TRAILER_SIZE || memchr::memchr(b':', line).is_none_or(|at| at == 0) {
            return Err(InvalidResponse::Chunk);
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
