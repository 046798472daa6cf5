//! Frames between the sequencer and its followers.

use foreseal_replication::wire::{MAX_REQUEST_SIZE, Request, Response, read_frame};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "wire",
    longest: 768,
    // Serde reserves at most 1 MiB for a list before it has read it, and lists are nested twice.
    memory: Memory { fixed: 3 << 20, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that a decoded frame has a stable encoding, for the decoders of both sides.
///
/// The input is the bytes received from a socket.
fn run(input: &[u8]) {
    let mut stream = input;
    loop {
        match read_frame(&mut stream, MAX_REQUEST_SIZE) {
            Ok(Some((kind, body))) => both(kind, &body),
            Ok(None) => return assert!(stream.is_empty()),
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
    }
}

fn both(kind: u8, body: &[u8]) {
    match Request::decode(kind, body) {
        Ok(frame) => {
            let written = frame.encode();
            assert_eq!(
                reread(&written, |kind, body| Request::decode(kind, &body).map(|frame| frame.encode()).ok()),
                written
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match Response::decode(kind, body.to_vec()) {
        Ok(frame) => {
            let written = frame.encode();
            let again =
                reread(&written, |kind, body| Response::decode(kind, body).map(|frame| frame.encode()).ok());
            assert_eq!(again, written);
            if let Response::Append(append) = frame {
                let records = append.decode();
                assert!(
                    records.is_ok_and(|append| append.records.len() <= body.len())
                        || append.decode().is_err()
                );
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Decodes an encoded frame and encodes it again.
fn reread(mut written: &[u8], again: impl FnOnce(u8, Vec<u8>) -> Option<Vec<u8>>) -> Vec<u8> {
    let (kind, body) =
        read_frame(&mut written, MAX_REQUEST_SIZE).ok().flatten().expect("a frame that was written is one");
    assert!(written.is_empty());
    again(kind, body).expect("what was written is read")
}
