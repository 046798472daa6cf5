//! Bounds of a listener, large transfers, and ends of connections.

use std::{io::Read, net::Shutdown, time::Duration};

use foreseal_replication::{FeedConnector, ListenerLimits};
use foreseal_testkit::wait_for;

use crate::{
    authority::trusted_pair,
    echo::{Echo, check_echo, read_to_end},
};

#[test]
fn silent_connections_keep_no_follower_out() {
    let (server, follower) = trusted_pair();
    let echo = Echo::start("tls", &server, ListenerLimits::default());
    let connector = FeedConnector::new(follower);
    let admitted = connector.connect(echo.address()).unwrap();
    let silent: Vec<_> = (0..200).map(|_| echo.open_tcp()).collect();
    check_echo(&admitted, b"frames");
    check_echo(&connector.connect(echo.address()).unwrap(), b"frames");
    // The oldest ones had to end for later ones.
    assert_eq!(read_to_end(&silent[0]), b"");
    assert_eq!(echo.sessions(), 2);
}

#[test]
fn a_silent_connection_ends_after_the_handshake_time() {
    let (server, _) = trusted_pair();
    let limits = ListenerLimits { handshake_timeout: Duration::from_millis(20), ..ListenerLimits::default() };
    let echo = Echo::start("tls", &server, limits);
    assert_eq!(read_to_end(echo.open_tcp()), b"");
    assert_eq!(echo.sessions(), 0);
}

#[test]
fn connections_above_the_limit_are_rejected() {
    let (server, follower) = trusted_pair();
    let limits = ListenerLimits { connections: 2, ..ListenerLimits::default() };
    let echo = Echo::start("tls", &server, limits);
    let connector = FeedConnector::new(follower);
    let first = connector.connect(echo.address()).unwrap();
    let _second = connector.connect(echo.address()).unwrap();
    let error = connector.connect(echo.address()).unwrap_err();
    assert!(error.to_string().contains("maximum number of connections"), "{error}");
    drop(first);
    wait_for("a closed connection makes room", || connector.connect(echo.address()).is_ok());
}

#[test]
fn large_transfers_pass_in_both_directions() {
    let (server, follower) = trusted_pair();
    let echo = Echo::start("tls", &server, ListenerLimits::default());
    let connector = FeedConnector::new(follower);
    let stream = connector.connect(echo.address()).unwrap();
    let bytes: Vec<u8> =
        (0..20_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    check_echo(&stream, &bytes);
}

#[test]
fn closing_either_side_closes_the_other() {
    let (server, follower) = trusted_pair();
    let echo = Echo::start("tls", &server, ListenerLimits::default());
    let connector = FeedConnector::new(follower);
    let mut stream = connector.connect(echo.address()).unwrap();
    check_echo(&stream, b"frames");
    // The session ends at the end of its input.
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let mut stream = connector.connect(echo.address()).unwrap();
    check_echo(&stream, b"frames");
    echo.listener.stop();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let stream = connector.connect(echo.address());
    assert_eq!(stream.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn dropping_the_connector_ends_its_connections() {
    let (server, follower) = trusted_pair();
    let echo = Echo::start("tls", &server, ListenerLimits::default());
    let connector = FeedConnector::new(follower);
    let mut stream = connector.clone().connect(echo.address()).unwrap();
    check_echo(&stream, b"frames");
    drop(connector);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}
