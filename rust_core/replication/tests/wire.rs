//! Frames between sequencer and followers: encoding round-trips, and any other input is a specific error.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes};
use foreseal_chain::FinalityDepth;
use foreseal_journal::{Identity, RawAppend};
use foreseal_pool::{AddedTransaction, Admission, PoolError, QueuedReason};
use foreseal_replication::{
    Phase, PoolStart, Production, ScrubStatus, StoreStatus, SubmitError,
    wire::{
        Cursor, Ending, FollowerRole, Heartbeat, Hello, MAX_REQUEST_SIZE, MAX_RESPONSE_SIZE, Outcome,
        Request, Response, SequencerReport, Welcome, WireError, read_frame, strip_number, write_numbered,
    },
};
use foreseal_store::DamageReport;
use proptest::prelude::*;

fn report(phase: Phase) -> SequencerReport {
    let failure = Some("the disk is full".to_owned());
    let scrub = ScrubStatus {
        bytes: 5,
        total: 10,
        passes: 2,
        damaged: 1,
        unchecked: 3,
        errors: 4,
        last: Some(1_700_000_000),
    };
    let store = StoreStatus { head: Some(4), backlog: 500, share: 750, bytes: 1 << 40, failure, scrub };
    let signer = Some(Address::repeat_byte(5));
    SequencerReport { phase, pool_start: PoolStart::Restored(7), signer, store: Some(store), owner: None }
}

fn damage(page: Option<u64>) -> DamageReport {
    DamageReport { table: "logs".to_owned(), key: vec![1, 2], page, reason: "damaged".to_owned() }
}

fn ups() -> Vec<Request> {
    let identity = Identity { chain_id: 31_337, genesis: B256::repeat_byte(1) };
    let hello = |cursor| {
        Request::Hello(Hello {
            identity,
            name: "worker-1".to_owned(),
            role: FollowerRole::Replica,
            run_id: [6; 16],
            version: "0.1.0".to_owned(),
            rpc: "http://127.0.0.1:8545".to_owned(),
            cursor,
        })
    };
    vec![
        hello(Cursor::From { sequence: 7 }),
        hello(Cursor::After { sequence: u64::MAX, hash: B256::repeat_byte(2) }),
        Request::Alive { next: 9 },
        Request::Report(Bytes::from_static(b"one 1\n")),
        Request::Submit { number: 4, runnable: true, submission: Bytes::from_static(b"transaction") },
        Request::Damaged(damage(Some(7))),
        Request::Damaged(damage(None)),
        Request::Query { number: 5, query: Bytes::from_static(b"{}") },
        Request::DirectoryCopy { identity: Some(identity) },
        Request::DirectoryCopy { identity: None },
    ]
}

fn downs() -> Vec<Response> {
    let production = Production { gas_limit: Some(30_000_000), ..Production::default() };
    let depth = FinalityDepth { safe: 2, finalized: 4 };
    let raw = RawAppend::new(3, 2, vec![1, 2, 3]);
    let added = AddedTransaction {
        hash: B256::repeat_byte(9),
        executable: true,
        replaced: Some(B256::ZERO),
        evicted: Vec::new(),
    };
    let too_low = PoolError::NonceTooLow { nonce: 1, account_nonce: 2, next_nonce: 3 };
    let outcomes = [
        Outcome::Admitted(Admission::Added(added)),
        Outcome::Admitted(Admission::WouldQueue(QueuedReason::NonceGap { expected: 6 })),
        Outcome::Refused(too_low),
        Outcome::from_result(Err(SubmitError::Stopped("the disk is full".to_owned()))),
        Outcome::Starting,
    ];
    let phases = [
        Phase::Replaying { records: 8 },
        Phase::Producing,
        Phase::Serving,
        Phase::Failed("the disk is full".to_owned()),
        Phase::Stopped,
    ];
    let endings =
        [Ending::Stopping, Ending::CursorGone, Ending::FellBehind, Ending::Refused("no".to_owned())];
    let busy = Response::End(Ending::Busy { limit: 2 });
    let identity = Identity { chain_id: 31_337, genesis: B256::repeat_byte(1) };
    let answer = |outcome| Response::Answer { number: 8, outcome };
    let pulse = Heartbeat { ticked: true, age: Duration::from_millis(201), next: 12, latest: 3 };
    vec![
        Response::Welcome(Welcome { produces: true, production, depth }),
        Response::Append(raw),
        Response::Pool(Bytes::from_static(b"event")),
        Response::Heartbeat(pulse),
        Response::Reply { number: 5, answer: Bytes::from_static(b"null") },
    ]
    .into_iter()
    .chain(outcomes.map(answer))
    .chain(phases.map(|phase| Response::SequencerReport(report(phase))))
    .chain(endings.map(Response::End))
    .chain([busy, Response::DirectoryCopy(identity)])
    .collect()
}

fn frames() -> Vec<Vec<u8>> {
    ups().iter().map(Request::encode).chain(downs().iter().map(Response::encode)).collect()
}

#[test]
fn frames_round_trip() {
    for up in ups() {
        let (kind, body) = read_frame(&mut up.encode().as_slice(), MAX_REQUEST_SIZE).unwrap().unwrap();
        assert_eq!(Request::decode(kind, &body).unwrap(), up);
    }
    for down in downs() {
        let (kind, body) = read_frame(&mut down.encode().as_slice(), MAX_REQUEST_SIZE).unwrap().unwrap();
        assert_eq!(format!("{:?}", Response::decode(kind, body).unwrap()), format!("{down:?}"));
    }
}

#[test]
fn only_a_stream_ending_between_frames_ended_cleanly() {
    assert!(read_frame(&mut [].as_slice(), MAX_REQUEST_SIZE).unwrap().is_none());
    for frame in frames() {
        for length in 1..frame.len() {
            let error = read_frame(&mut &frame[..length], MAX_REQUEST_SIZE).unwrap_err();
            assert!(matches!(error, WireError::Io(_)), "{error}");
        }
    }
}

#[test]
fn an_announced_frame_length_is_checked() {
    let mut frame = u32::MAX.to_le_bytes().to_vec();
    frame.push(1);
    let error = read_frame(&mut frame.as_slice(), MAX_REQUEST_SIZE).unwrap_err();
    assert!(matches!(error, WireError::TooLarge { limit: MAX_REQUEST_SIZE, .. }), "{error}");
    // Below the limit, memory grows with the received bytes.
    frame[..4].copy_from_slice(&u32::try_from(MAX_REQUEST_SIZE).unwrap().to_le_bytes());
    assert!(matches!(read_frame(&mut frame.as_slice(), MAX_REQUEST_SIZE).unwrap_err(), WireError::Io(_)));
    assert!(matches!(read_frame(&mut [0; 4].as_slice(), MAX_REQUEST_SIZE).unwrap_err(), WireError::Empty));
}

#[test]
fn a_frame_out_of_order_is_reported() {
    for down in downs() {
        let (mut stream, frame) = (Vec::new(), down.encode());
        write_numbered(&mut stream, &frame, 7).unwrap();
        let (kind, body) = read_frame(&mut stream.as_slice(), MAX_RESPONSE_SIZE).unwrap().unwrap();
        for due in [6, 8, 0] {
            let error = strip_number(&mut body.clone(), due).unwrap_err();
            assert_eq!(error.to_string(), format!("expected frame {due}, got 7"));
        }
        let mut numbered = body;
        strip_number(&mut numbered, 7).unwrap();
        assert_eq!(Some((kind, numbered)), read_frame(&mut frame.as_slice(), MAX_RESPONSE_SIZE).unwrap());
    }
    assert!(matches!(strip_number(&mut vec![0; 3], 0), Err(WireError::Empty)));
}

#[test]
fn another_version_is_named() {
    let mut frame = ups()[0].encode();
    frame[13] = 99;
    let (kind, body) = read_frame(&mut frame.as_slice(), MAX_REQUEST_SIZE).unwrap().unwrap();
    let error = Request::decode(kind, &body).unwrap_err();
    assert_eq!(error.to_string(), "the peer uses version 99 of the feed, this process version 1");
    let error = Request::decode(1, b"GET / HTTP/1.1").unwrap_err();
    assert_eq!(error.to_string(), "the first frame is not a greeting");
    assert!(matches!(Request::decode(77, &[]).unwrap_err(), WireError::Kind(77)));
    assert!(matches!(Response::decode(77, Vec::new()).unwrap_err(), WireError::Kind(77)));
}

/// Decodes arbitrary bytes like both sides.
fn read_all(mut bytes: &[u8]) {
    while let Ok(Some((kind, body))) = read_frame(&mut bytes, MAX_REQUEST_SIZE) {
        let _ = Request::decode(kind, &body);
        if let Ok(Response::Append(append)) = Response::decode(kind, body) {
            let _ = append.decode();
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_never_panic_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
    }

    #[test]
    fn a_modified_frame_never_panics_a_reader(
        index in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let frames = frames();
        let mut frame = index.get(&frames).clone();
        let offset = at.index(frame.len());
        frame[offset] = byte;
        read_all(&frame);
        let length = u32::try_from(cut.index(frame.len())).unwrap();
        frame[..4].copy_from_slice(&length.to_le_bytes());
        read_all(&frame);
    }
}
