//! The feed over several listeners of one server.

use std::{io::Write, ops::Range, os::unix::net::UnixStream, time::Duration};

use alloy_primitives::Bytes;
use foreseal_journal::RawAppend;
use foreseal_replication::{
    FeedAddress, FeedConnector, FeedServer, ListenerLimits,
    wire::{
        Cursor, Ending, FollowerRole, Hello, MAX_RESPONSE_SIZE, Outcome, Request, Response, read_frame,
        strip_number,
    },
};

use crate::{
    authority::trusted_pair,
    sequencer::{IDENTITY, source},
};

/// A follower that has been greeted.
struct Follower {
    stream: UnixStream,
    received: u32,
}

impl Follower {
    fn greet(stream: UnixStream, role: FollowerRole) -> Self {
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let hello = Hello {
            identity: IDENTITY,
            name: format!("{}-1", role.name()),
            role,
            run_id: [7; 16],
            version: "1.2.3".to_owned(),
            rpc: "http://127.0.0.1:8545".to_owned(),
            cursor: Cursor::From { sequence: 0 },
        };
        (&stream).write_all(&Request::Hello(hello).encode()).unwrap();
        let (kind, body) = read_frame(&mut &stream, MAX_RESPONSE_SIZE).unwrap().unwrap();
        assert!(matches!(Response::decode(kind, body).unwrap(), Response::Welcome(_)));
        Self { stream, received: 0 }
    }

    /// Returns the next frame; `None` at the end of the stream.
    fn receive(&mut self) -> Option<Response> {
        let (kind, mut body) = read_frame(&mut &self.stream, MAX_RESPONSE_SIZE).unwrap()?;
        strip_number(&mut body, self.received).unwrap();
        self.received += 1;
        Some(Response::decode(kind, body).unwrap())
    }

    fn wait_for<T>(&mut self, mut wanted: impl FnMut(Response) -> Option<T>) -> T {
        loop {
            if let Some(value) = wanted(self.receive().expect("the stream goes on")) {
                return value;
            }
        }
    }
}

#[test]
fn followers_of_all_listeners_are_served_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let (source, log) = source(folder.path());
    let (security, credentials) = trusted_pair();
    let server = FeedServer::start(&folder.path().join("feed.sock"), source).unwrap();
    let listen = |address: &str| {
        let address = FeedAddress::parse(address).unwrap();
        server.listen(&address, &security, ListenerLimits::default())
    };
    let tls = listen("tls://127.0.0.1:0").unwrap();
    assert!(listen(&tls.to_string()).unwrap_err().to_string().contains(&tls.to_string()), "it is in use");
    let unix = FeedAddress::Unix(folder.path().join("feed.sock"));
    let connector = FeedConnector::new(credentials);
    let connect = |address, role| Follower::greet(connector.connect(address).unwrap(), role);
    let mut followers = [connect(&unix, FollowerRole::Worker), connect(&tls, FollowerRole::Replica)];
    let listed = server.followers();
    let roles: Vec<_> = listed.iter().map(|follower| (&*follower.name, follower.role)).collect();
    assert_eq!(roles, [("worker-1", FollowerRole::Worker), ("replica-1", FollowerRole::Replica)]);
    assert_eq!((listed[1].run_id, &*listed[1].version), ([7; 16], "1.2.3"));
    assert_eq!(listed[1].rpc, "http://127.0.0.1:8545");
    for follower in &mut followers {
        follower.wait_for(|frame| matches!(frame, Response::Pool(_)).then_some(()));
    }
    log.append(RawAppend::new(0, 1, vec![7; 100]));
    for follower in &mut followers {
        let append = follower.wait_for(|frame| match frame {
            Response::Append(append) => Some(append),
            _ => None,
        });
        assert!(append.is_consistent());
    }
    server.stop();
    for follower in &mut followers {
        let ending = follower.wait_for(|frame| match frame {
            Response::End(ending) => Some(ending),
            _ => None,
        });
        assert_eq!(ending, Ending::Stopping);
        assert!(follower.receive().is_none());
    }
    assert_eq!(connector.connect(&tls).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(server.listen(&tls, &security, ListenerLimits::default()).is_err());
}

#[test]
fn requests_of_a_worker_end_a_connection_from_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let (source, _) = source(folder.path());
    let (security, credentials) = trusted_pair();
    let server = FeedServer::new(source);
    let address = FeedAddress::parse("tls://127.0.0.1:0").unwrap();
    let address = server.listen(&address, &security, ListenerLimits::default()).unwrap();
    let connector = FeedConnector::new(credentials);
    let query = Request::Query { number: 1, query: Bytes::from_static(b"filters") };
    let report = Request::Report(Bytes::from_static(b"foreseal_x 1\n"));
    for request in [query, report] {
        let stream = connector.connect(&address).unwrap();
        let mut requests = stream.try_clone().unwrap();
        let mut follower = Follower::greet(stream, FollowerRole::Replica);
        follower.wait_for(|frame| matches!(frame, Response::Pool(_)).then_some(()));
        requests.write_all(&request.encode()).unwrap();
        while follower.receive().is_some() {}
    }
    server.stop();
}

#[test]
fn submissions_of_another_machine_in_flight_have_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let (source, _) = source(folder.path());
    let (security, credentials) = trusted_pair();
    let server = FeedServer::start(&folder.path().join("feed.sock"), source).unwrap();
    let address = FeedAddress::parse("tls://127.0.0.1:0").unwrap();
    let address = server.listen(&address, &security, ListenerLimits::default()).unwrap();
    let connector = FeedConnector::new(credentials);
    let unix = FeedAddress::Unix(folder.path().join("feed.sock"));
    for (address, role) in [(&address, FollowerRole::Replica), (&unix, FollowerRole::Worker)] {
        let stream = connector.connect(address).unwrap();
        let mut requests = stream.try_clone().unwrap();
        let mut follower = Follower::greet(stream, role);
        follower.wait_for(|frame| matches!(frame, Response::Pool(_)).then_some(()));
        let mut submit = |numbers: Range<u64>, bytes: &'static [u8]| {
            for number in numbers {
                let submission = Bytes::from_static(bytes);
                requests
                    .write_all(&Request::Submit { number, runnable: false, submission }.encode())
                    .unwrap();
            }
        };
        let mut answer = || {
            follower.wait_for(|frame| match frame {
                Response::Answer { number, outcome } => Some((number, outcome)),
                _ => None,
            })
        };
        submit(0..4097, b"1");
        if role == FollowerRole::Replica {
            let (number, outcome) = answer();
            assert!(matches!((number, outcome), (4096, Outcome::Busy { max: 4096 })), "{number}");
            submit(5000..5001, b"22");
            assert!(matches!(answer(), (5000, Outcome::Busy { .. })), "all are still in flight");
        } else {
            // The backend then answers those that it holds.
            submit(5000..5001, b"22");
            assert!((0..4097).all(|_| matches!(answer().1, Outcome::Away)), "a worker has no bound");
        }
    }
    server.stop();
}

#[test]
fn large_frames_pass_the_feed_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let (source, log) = source(folder.path());
    let (security, credentials) = trusted_pair();
    let server = FeedServer::new(source);
    let address = FeedAddress::parse("tls://127.0.0.1:0").unwrap();
    let address = server.listen(&address, &security, ListenerLimits::default()).unwrap();
    let connector = FeedConnector::new(credentials);
    let stream = connector.connect(&address).unwrap();
    let requests = stream.try_clone().unwrap();
    let mut follower = Follower::greet(stream, FollowerRole::Replica);
    follower.wait_for(|frame| matches!(frame, Response::Pool(_)).then_some(()));
    // A request has at most 16 MiB, an append more.
    let submission = Bytes::from(vec![3; 16_000_000]);
    let frame = Request::Submit { number: 5, runnable: false, submission }.encode();
    std::thread::scope(|scope| {
        scope.spawn(|| (&requests).write_all(&frame).unwrap());
        log.append(RawAppend::new(0, 1, vec![7; 20_000_000]));
        let (mut append, mut reply) = (None, None);
        while append.is_none() || reply.is_none() {
            match follower.receive().expect("the stream goes on") {
                Response::Append(received) => append = Some(received),
                Response::Answer { number: 5, outcome } => reply = Some(outcome),
                _ => {}
            }
        }
        assert_eq!(append.map(|append| append.records.len()), Some(20_000_000));
        assert!(matches!(reply, Some(Outcome::Starting)), "the submission was received whole");
    });
    server.stop();
}
