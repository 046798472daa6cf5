use proptest::prelude::*;

use super::*;

/// Parses `data` in one call.
fn at_once(data: &[u8], ended: bool) -> Result<Option<(u16, Vec<u8>, usize)>, InvalidResponse> {
    let mut reader = ResponseReader::default();
    Ok(reader.read(data, ended)?.map(|answer| {
        let body = reader.body(&answer, data).to_vec();
        (answer.status, body, answer.end)
    }))
}

/// Parses `data` byte by byte.
fn slowly(data: &[u8]) -> Result<Option<(u16, Vec<u8>, usize)>, InvalidResponse> {
    let mut reader = ResponseReader::default();
    for end in 0..=data.len() {
        if let Some(answer) = reader.read(&data[..end], false)? {
            let body = reader.body(&answer, data).to_vec();
            return Ok(Some((answer.status, body, answer.end)));
        }
    }
    Ok(None)
}

const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2 \r\nlo\r\n0\r\nA: b\r\n\r\n";

#[test]
fn a_response_cut_anywhere_is_incomplete_and_reads_when_complete() {
    for data in [LENGTH, CHUNKED] {
        let expected = Ok(Some((200, b"hello".to_vec(), data.len())));
        assert_eq!((at_once(data, false), slowly(data)), (expected.clone(), expected));
        for end in 1..data.len() {
            assert_eq!(at_once(&data[..end], false), Ok(None), "{end}");
            assert_eq!(at_once(&data[..end], true), Err(InvalidResponse::Cut), "{end}");
        }
    }
    assert_eq!(at_once(b"", true), Ok(None));
}

#[test]
fn a_response_without_a_length_ends_with_its_connection() {
    let data = b"HTTP/1.1 200 OK\r\n\r\nhello";
    assert_eq!(at_once(data, false), Ok(None));
    assert_eq!(at_once(data, true), Ok(Some((200, b"hello".to_vec(), data.len()))));
}

#[test]
fn an_informational_response_is_skipped_and_204_has_no_body() {
    let data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(slowly(data), Ok(Some((204, vec![], data.len()))));
}

#[test]
fn an_invalid_response_is_rejected() {
    let cases: &[(&[u8], InvalidResponse)] = &[
        (b"SSH-2.0-x\r\n", InvalidResponse::Head(httparse::Error::Version)),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", InvalidResponse::Head(httparse::Error::Status)),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n", InvalidResponse::Length),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\n", InvalidResponse::Length),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n", InvalidResponse::Large),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", InvalidResponse::Encoding),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            InvalidResponse::Encoding,
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", InvalidResponse::Chunk),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\naXX", InvalidResponse::Chunk),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n", InvalidResponse::Large),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nnone\r\n\r\n", InvalidResponse::Chunk),
    ];
    for (data, error) in cases {
        assert_eq!(at_once(data, false).as_ref(), Err(error), "{}", String::from_utf8_lossy(data));
        assert_eq!(slowly(data).as_ref(), Err(error), "{}", String::from_utf8_lossy(data));
    }
    let long = [b"HTTP/1.1 200 OK\r\na: ".as_slice(), &vec![b'x'; MAX_HEAD_SIZE]].concat();
    assert_eq!(at_once(&long, false), Err(InvalidResponse::LongHead));
}

#[test]
fn a_connection_stays_open_unless_the_response_closes_it() {
    let stays_open = |head: &str| {
        let data = format!("{head}\r\ncontent-length: 0\r\n\r\n");
        let mut reader = ResponseReader::default();
        reader.read(data.as_bytes(), false).unwrap().unwrap().keeps_alive
    };
    assert!(stays_open("HTTP/1.1 200 OK"));
    assert!(!stays_open("HTTP/1.1 200 OK\r\nConnection: x, Close"));
    assert!(!stays_open("HTTP/1.0 200 OK"));
    assert!(stays_open("HTTP/1.0 200 OK\r\nconnection: keep-alive"));
}

proptest! {
    #[test]
    fn any_bytes_never_panic_and_chunking_changes_nothing(
        data in prop::collection::vec(prop_oneof![
            Just(b"HTTP/1.1 200 OK\r\n".to_vec()), Just(b"\r\n".to_vec()), Just(b"content-length: 3\r\n".to_vec()),
            Just(b"transfer-encoding: chunked\r\n".to_vec()), Just(b"3\r\nabc\r\n".to_vec()), Just(b"0\r\n".to_vec()),
            prop::collection::vec(any::<u8>(), 0..6),
        ], 0..12)
    ) {
        let data = data.concat();
        prop_assert_eq!(at_once(&data, false), slowly(&data));
    }
}
