//! Faults of credential files are named with the file.

use std::fs;

use foreseal_replication::{FeedCredentials, FeedSecurity};

use crate::authority::Authority;

fn fault(credentials: &FeedCredentials) -> String {
    let loaded: Result<FeedSecurity, _> = credentials.load();
    loaded.unwrap_err().to_string()
}

#[test]
fn a_faulty_file_is_named() {
    let authority = Authority::new();
    let (garbage, torn) = (authority.path("garbage"), authority.path("torn"));
    fs::write(&garbage, "not a certificate").unwrap();
    fs::write(&torn, "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n").unwrap();
    let valid = authority.server();
    let with_ca = |path: &std::path::Path| FeedCredentials { ca: Some(path.to_owned()), ..valid.clone() };
    let message = fault(&with_ca(&authority.path("missing")));
    assert!(message.starts_with("cannot read the CA file") && message.contains("missing"), "{message}");
    let message = fault(&with_ca(&garbage));
    assert!(message.contains("garbage contains no certificate"), "{message}");
    let message = fault(&with_ca(&torn));
    assert!(message.contains("torn is not valid PEM"), "{message}");
    let message = fault(&FeedCredentials { key: Some(garbage), ..valid.clone() });
    assert!(message.contains("garbage is not valid PEM: it contains no private key"), "{message}");
    let message = fault(&FeedCredentials { token: Some(authority.token("short")), ..valid });
    assert!(message.contains("short must have 16 to 1024 bytes, got 5"), "{message}");
}

#[test]
fn certificate_and_key_must_match() {
    let authority = Authority::new();
    let (valid, other) = (authority.server(), authority.issue("other.example"));
    let message = fault(&FeedCredentials { key: other.key, ..valid.clone() });
    assert!(message.contains("127.0.0.1.pem cannot be used with the key"), "{message}");
    let message = fault(&FeedCredentials { key: None, ..valid.clone() });
    assert!(message.contains("127.0.0.1.pem has no key"), "{message}");
    let message = fault(&FeedCredentials { certificate: None, ..valid });
    assert!(message.contains("127.0.0.1.key has no certificate"), "{message}");
}
