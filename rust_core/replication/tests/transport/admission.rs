//! Followers with valid and invalid credentials.

use std::{io, net::TcpListener};

use foreseal_replication::{FeedAddress, FeedConnector, FeedCredentials, FeedSecurity, ListenerLimits};

use crate::{
    authority::{Authority, Identity, trusted_pair},
    echo::{Echo, check_echo, read_to_end},
};

const TOKEN: &str = "correct horse battery";
const OTHER_TOKEN: &str = "wrong horse battery!";

/// Connects a follower to a listener, and returns the error if it is not admitted.
fn connect(scheme: &str, server: &FeedCredentials, follower: &FeedCredentials) -> io::Result<()> {
    let echo = Echo::start(scheme, &server.load().unwrap(), ListenerLimits::default());
    let connector = FeedConnector::new(follower.load().unwrap());
    let error = match connector.connect(echo.address()) {
        Ok(stream) => {
            check_echo(&stream, b"frames");
            return Ok(());
        }
        Err(error) => error,
    };
    assert_eq!(echo.sessions(), 0, "a rejected connection reached a session");
    assert!(error.to_string().contains(&echo.address().to_string()), "{error}");
    Err(error)
}

fn check_denied(scheme: &str, server: &FeedCredentials, follower: &FeedCredentials, reason: &str) {
    let error = connect(scheme, server, follower).unwrap_err();
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn a_certificate_or_the_token_admits() {
    let authority = Authority::new();
    let token = || Some(authority.token(TOKEN));
    let by_certificate = authority.server();
    let by_both = FeedCredentials { token: token(), ..authority.server() };
    let by_token = FeedCredentials { ca: None, ..by_both.clone() };
    let with_certificate = authority.follower();
    let with_token = FeedCredentials { token: token(), ..authority.anonymous() };
    connect("tls", &by_certificate, &with_certificate).unwrap();
    connect("tls", &by_both, &with_certificate).unwrap();
    connect("tls", &by_both, &with_token).unwrap();
    connect("tls", &by_token, &with_token).unwrap();
    let wrong_token = FeedCredentials { token: Some(authority.token(OTHER_TOKEN)), ..with_certificate };
    connect("tls", &by_both, &wrong_token).unwrap();
    let only_token = FeedCredentials { token: token(), ..FeedCredentials::default() };
    connect("tcp", &only_token, &only_token).unwrap();
}

#[test]
fn a_wrong_or_missing_token_is_rejected() {
    let authority = Authority::new();
    let by_both = FeedCredentials { token: Some(authority.token(TOKEN)), ..authority.server() };
    let by_token = FeedCredentials { ca: None, ..by_both.clone() };
    let wrong = FeedCredentials { token: Some(authority.token(OTHER_TOKEN)), ..authority.anonymous() };
    for server in [&by_both, &by_token] {
        for follower in [&wrong, &authority.anonymous()] {
            check_denied("tls", server, follower, "no valid token and no client certificate");
        }
    }
    // A listener without a CA cannot verify a certificate.
    check_denied("tls", &by_token, &authority.follower(), "no valid token");
    let loopback = FeedCredentials { token: Some(authority.token(TOKEN)), ..FeedCredentials::default() };
    check_denied("tcp", &loopback, &wrong, "no valid token");
}

#[test]
fn a_certificate_of_another_ca_is_rejected() {
    let (authority, other) = (Authority::new(), Authority::new());
    let reason = "the sequencer rejects the certificate of this process";
    let Identity { certificate, key } = other.issue("follower.example");
    let foreign = FeedCredentials { certificate, key, ..authority.anonymous() };
    check_denied("tls", &authority.server(), &foreign, reason);
    check_denied("tls", &authority.server(), &authority.anonymous(), reason);
    // The right token does not excuse a wrong certificate.
    let server = FeedCredentials { token: Some(authority.token(TOKEN)), ..authority.server() };
    let foreign = FeedCredentials { token: Some(authority.token(TOKEN)), ..foreign };
    check_denied("tls", &server, &foreign, reason);
}

#[test]
fn a_follower_rejects_an_untrusted_listener() {
    let (authority, other) = (Authority::new(), Authority::new());
    let follower = FeedCredentials { ca: Some(other.ca()), ..authority.follower() };
    let error = connect("tls", &authority.server(), &follower).unwrap_err();
    assert!(error.to_string().contains("certificate of the sequencer is not trusted"), "{error}");
    let Identity { certificate, key } = authority.issue("other.example");
    let server = FeedCredentials { certificate, key, ..authority.server() };
    let error = connect("tls", &server, &authority.follower()).unwrap_err();
    assert!(error.to_string().contains("is not trusted"), "{error}");
}

#[test]
fn a_port_without_listener_is_refused() {
    let (_, follower) = trusted_pair();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for scheme in ["tcp", "tls"] {
        let address = FeedAddress::parse(&format!("{scheme}://127.0.0.1:{port}")).unwrap();
        let error = FeedConnector::new(follower.clone()).connect(&address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}

#[test]
fn missing_credentials_are_named_before_connecting() {
    let address = FeedAddress::parse("tls://127.0.0.1:1").unwrap();
    let error = FeedConnector::default().connect(&address).unwrap_err();
    assert!(error.to_string().contains("needs the CA"), "{error}");
    let start = |address: &str| {
        let address = FeedAddress::parse(address).unwrap();
        let limits = ListenerLimits::default();
        let started =
            foreseal_replication::FeedListener::start(&address, &FeedSecurity::default(), limits, |_| Ok(()));
        started.err().unwrap().to_string()
    };
    assert!(start("tls://127.0.0.1:0").contains("needs a certificate"));
    assert!(start("tcp://127.0.0.1:0").contains("needs a token"));
}

#[test]
fn plain_bytes_at_a_tls_port_reach_no_session() {
    let (server, follower) = trusted_pair();
    let echo = Echo::start("tls", &server, ListenerLimits::default());
    let mut stream = echo.open_tcp();
    io::Write::write_all(&mut stream, b"FSEALFED GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(read_to_end(&stream).len() < 64, "only an alert is sent");
    assert_eq!(echo.sessions(), 0);
    let connector = FeedConnector::new(follower);
    check_echo(&connector.connect(echo.address()).unwrap(), b"frames");
}

#[test]
fn an_invalid_preamble_gets_its_reason() {
    let authority = Authority::new();
    let only_token = FeedCredentials { token: Some(authority.token(TOKEN)), ..FeedCredentials::default() };
    let echo = Echo::start("tcp", &only_token.load().unwrap(), ListenerLimits::default());
    for preamble in [&b"FSEALFED\x05\0"[..], b"FSEALTP1\x01\x04"] {
        let mut stream = echo.open_tcp();
        io::Write::write_all(&mut stream, preamble).unwrap();
        assert_eq!(read_to_end(&stream), [3]);
    }
    // A listener that speaks another protocol.
    let address = echo.address().to_string().replace("tcp", "tls");
    let (_, follower) = trusted_pair();
    let error = FeedConnector::new(follower).connect(&FeedAddress::parse(&address).unwrap()).unwrap_err();
    assert!(error.to_string().contains("TLS handshake failed"), "{error}");
    assert_eq!(echo.sessions(), 0);
}
