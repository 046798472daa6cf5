//! Runs the generator against scripted servers that misbehave.

#![allow(clippy::unwrap_used, reason = "the servers of these tests fail as tests do")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foreseal_loadgen::{LoadError, Pace, Plan, Responder, RunMetrics, Subscribers, Target, Transport, run};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 29\r\n\r\n{\"id\":1,\"result\":\"0x1234567\"}";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nc\r\n{\"result\":\"0\r\n3\r\nx1\"\r\n1\r\n}\r\n0\r\n\r\n";

/// Starts a server that runs `script` for each connection on its own thread, with the connection's index.
fn serve(script: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let script = script.clone();
            std::thread::spawn(move || script(number, stream));
        }
    });
    address
}

/// Reads the body of the next request; `None` if the client has disconnected.
fn request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&data).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .split_once("Content-Length: ")
                .map_or(0, |(_, rest)| rest.lines().next().unwrap_or_default().parse::<usize>().unwrap());
            if body.len() >= length {
                return Some(body.as_bytes().to_vec());
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => data.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

fn plan(address: SocketAddr, pace: Pace) -> Plan {
    Plan {
        target: Target::new(address, "localhost", "/").unwrap(),
        transport: Transport::Http,
        bodies: vec![b"{}".to_vec()],
        error_code: None,
        connections: 1,
        pace,
        // The end of runs that wait for nothing; a busy machine takes seconds for what is done in milliseconds.
        length: Duration::from_mins(2),
        patience: Duration::from_mins(1),
    }
}

fn metrics(plan: &Plan) -> RunMetrics {
    run(plan, &mut |_| true).unwrap()
}

fn once(address: SocketAddr) -> RunMetrics {
    metrics(&plan(address, Pace::Once))
}

#[test]
fn a_response_cut_at_any_byte_is_an_error() {
    for answer in [GOOD, CHUNKED] {
        for end in 0..=answer.len() {
            let address = serve(move |_, mut stream| {
                request(&mut stream);
                stream.write_all(&answer[..end]).unwrap();
            });
            let metrics = once(address);
            let complete = u64::from(end == answer.len());
            assert_eq!(
                (metrics.answered, metrics.errors, metrics.unanswered),
                (complete, 1 - complete, 0),
                "{end}"
            );
        }
    }
}

#[test]
fn a_response_in_chunks_of_one_byte_is_a_result() {
    for answer in [GOOD, CHUNKED] {
        let address = serve(move |_, mut stream| {
            stream.set_nodelay(true).unwrap();
            request(&mut stream);
            for byte in answer {
                stream.write_all(&[*byte]).unwrap();
            }
            request(&mut stream);
        });
        let metrics = once(address);
        assert_eq!((metrics.answered, metrics.errors), (1, 0));
    }
}

#[test]
fn invalid_responses_are_counted_and_the_first_is_stored() {
    for (answer, status) in [
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy".as_slice(), 503),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"error\":{\"a\":1", 200),
        (b"SSH-2.0-OpenSSH_9.6\r\n", 0),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", 0),
        (b"\0\0\0\0", 0),
    ] {
        let address = serve(move |_, mut stream| {
            request(&mut stream);
            stream.write_all(answer).unwrap();
            request(&mut stream);
        });
        let metrics = once(address);
        let wrong = metrics.first_wrong.unwrap();
        assert_eq!((metrics.answered, metrics.errors, wrong.status), (0, 1, status), "{wrong:?}");
        assert!(!wrong.answer.is_empty() && !wrong.why.is_empty());
    }
}

#[test]
fn a_silent_server_ends_the_run_after_the_timeout() {
    let address = serve(|_, mut stream| while request(&mut stream).is_some() {});
    let began = Instant::now();
    let plan = Plan {
        length: Duration::from_millis(100),
        patience: Duration::from_millis(200),
        connections: 3,
        ..plan(address, Pace::Closed)
    };
    let metrics = metrics(&plan);
    assert_eq!((metrics.answered, metrics.unanswered, metrics.latency.count()), (0, 3, 3));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_connection_closed_between_responses_is_reopened_without_losing_requests() {
    let address = serve(|_, mut stream| {
        request(&mut stream);
        stream.write_all(GOOD).unwrap();
    });
    let mut plan = plan(address, Pace::Once);
    plan.bodies = vec![b"{}".to_vec(); 20];
    let metrics = metrics(&plan);
    assert_eq!((metrics.answered, metrics.errors), (20, 0), "{:?}", metrics.first_wrong);
    assert_eq!((metrics.smallest, metrics.largest, metrics.received), (29, 29, 29 * 20));
}

#[test]
fn request_bodies_are_distributed_over_connections_in_turn() {
    let seen = Arc::new(Mutex::new(vec![Vec::new(); 3]));
    let shared = seen.clone();
    let address = serve(move |number, mut stream| {
        while let Some(body) = request(&mut stream) {
            shared.lock().unwrap()[number].push(body[0] - b'a');
            stream.write_all(GOOD).unwrap();
        }
    });
    let mut plan = plan(address, Pace::Once);
    plan.connections = 3;
    plan.bodies = (b'a'..b'a' + 10).map(|letter| vec![letter]).collect();
    assert_eq!(metrics(&plan).answered, 10);
    assert_eq!(*seen.lock().unwrap(), [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]]);
}

#[test]
fn each_connection_sends_a_request_in_a_run_that_is_over_at_once() {
    let address = serve(|_, mut stream| {
        while request(&mut stream).is_some() {
            stream.write_all(GOOD).unwrap();
        }
    });
    let report = metrics(&Plan { connections: 3, length: Duration::ZERO, ..plan(address, Pace::Closed) });
    assert_eq!((report.answered, report.errors, report.unanswered), (3, 0, 0));
}

#[test]
fn a_stall_is_charged_to_every_request_due_in_it() {
    let stall = Duration::from_millis(400);
    let address = serve(move |_, mut stream| {
        request(&mut stream);
        std::thread::sleep(stall);
        stream.write_all(GOOD).unwrap();
        while request(&mut stream).is_some() {
            stream.write_all(GOOD).unwrap();
        }
    });
    let open = Plan { length: Duration::from_millis(600), ..plan(address, Pace::Open { rate: 100.0 }) };
    let metrics = metrics(&open);
    assert_eq!((metrics.answered, metrics.errors, metrics.unanswered), (60, 0, 0));
    // Forty requests are due during the stall, evenly spaced: half of them wait for more than half of it. What waited
    // so long was due by then before the end of the run.
    let long: u64 =
        metrics.latency.counts().iter().filter(|(time, _)| *time > 200_000_000).map(|(_, n)| n).sum();
    let millis = u64::try_from(Duration::from_secs_f64(metrics.seconds).as_millis()).unwrap();
    let most = millis.saturating_sub(200) / 10 + 2;
    assert!((20..=most).contains(&long), "{long} of at most {most}");
}

#[test]
fn an_open_loop_that_is_too_fast_counts_unsent_requests() {
    let address = serve(|_, mut stream| {
        while request(&mut stream).is_some() {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(GOOD).unwrap();
        }
    });
    let open = Plan {
        length: Duration::from_millis(200),
        patience: Duration::from_millis(300),
        ..plan(address, Pace::Open { rate: 1000.0 })
    };
    let metrics = metrics(&open);
    assert_eq!(metrics.answered + metrics.unanswered, 200);
    assert!(metrics.unanswered > 100);
}

#[test]
fn a_closed_port_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = run(&plan(free, Pace::Closed), &mut |_| true).unwrap_err();
    assert!(matches!(error, LoadError::Open { .. }), "{error}");
    for wrong in [
        Plan { connections: 0, ..plan(free, Pace::Closed) },
        Plan { bodies: vec![], ..plan(free, Pace::Closed) },
        plan(free, Pace::Open { rate: 0.0 }),
        plan(free, Pace::Open { rate: f64::NAN }),
    ] {
        assert!(matches!(run(&wrong, &mut |_| true), Err(LoadError::Plan(_))));
    }
}

#[test]
fn a_server_that_disappears_ends_the_run() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || drop(listener.accept()));
        address
    };
    let began = Instant::now();
    let plan = plan(address, Pace::Closed);
    let metrics = metrics(&plan);
    assert_eq!(metrics.answered, 0);
    assert!(metrics.errors > 0);
    assert!(began.elapsed() < plan.length / 2, "the run went on with nobody there");
}

#[test]
fn the_constant_responder_answers_over_both_transports() {
    let responder = Responder::start().unwrap();
    for transport in [Transport::Http, Transport::WebSocket] {
        let plan = Plan {
            transport,
            connections: 16,
            bodies: vec![vec![b'x'; 300]; 320],
            ..plan(responder.address(), Pace::Once)
        };
        let metrics = metrics(&plan);
        assert_eq!(metrics.answered, 320, "{transport:?} {metrics:?}");
        assert_eq!((metrics.errors, metrics.unanswered, metrics.smallest, metrics.largest), (0, 0, 41, 41));
    }
}

/// Answers the upgrade request with the accept value for the key of the generator (RFC 6455).
fn upgrade(stream: &mut TcpStream) {
    request(stream);
    write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        Target::accept()
    )
    .unwrap();
}

#[test]
fn a_rejected_closed_or_broken_websocket_is_reported() {
    let refusing = serve(|_, mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 101 OK\r\nSec-WebSocket-Accept: wrong\r\n\r\n").unwrap();
    });
    let framed = |address| Plan { transport: Transport::WebSocket, ..plan(address, Pace::Once) };
    assert!(matches!(run(&framed(refusing), &mut |_| true), Err(LoadError::Open { .. })));
    for (bytes, why) in [
        (b"\x88\x05\x03\xf5bye".as_slice(), "1013 bye"),
        (b"\x83\x00", "reserved"),
        (b"\x81\x05hello", "no result"),
    ] {
        let address = serve(move |_, mut stream| {
            upgrade(&mut stream);
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.write_all(bytes).unwrap();
            let _ = stream.read(&mut [0; 100]);
        });
        let metrics = metrics(&framed(address));
        let wrong = metrics.first_wrong.unwrap();
        assert_eq!((metrics.answered, metrics.errors), (0, 1));
        assert!(wrong.why.contains(why), "{wrong:?}");
    }
}

#[test]
fn subscribers_count_messages_and_detect_disconnects() {
    let address = serve(|number, mut stream| {
        upgrade(&mut stream);
        stream.read_exact(&mut [0; 8]).unwrap();
        let mut bytes = b"\x81\x0e{\"result\":\"1\"}".to_vec();
        bytes.extend(b"\x81\x03one\x89\x01p\x01\x01t\x80\x02wo\x81\x05three");
        stream.write_all(&bytes).unwrap();
        if number != 0 {
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.read(&mut [0; 100]);
        }
    });
    let plan = Plan { connections: 3, ..plan(address, Pace::Once) };
    let mut subscribers = Subscribers::open(&plan).unwrap();
    let arrivals = subscribers.listen(3, Duration::from_mins(1), &mut |_| true).unwrap();
    assert_eq!((arrivals.notifications, arrivals.min, arrivals.max, arrivals.received), (9, 3, 3, 33));
    let arrivals = subscribers.listen(1, Duration::from_millis(100), &mut |_| true).unwrap();
    assert_eq!(arrivals.notifications, 0);
}
