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
    let found = fault(&with_ca(&authority.path("missing")));
    assert!(found.starts_with("cannot read the CA file") && found.contains("missing"), "{found}");
    let found = fault(&with_ca(&garbage));
    assert!(found.contains("garbage contains no certificate"), "{found}");
    let found = fault(&with_ca(&torn));
    assert!(found.contains("torn is not valid PEM"), "{found}");
    let found = fault(&FeedCredentials { key: Some(garbage), ..valid.clone() });
    assert!(found.contains("garbage is not valid PEM: it contains no private key"), "{found}");
    let found = fault(&FeedCredentials { token: Some(authority.token("short")), ..valid });
    assert!(found.contains("short must have 16 to 1024 bytes, got 5"), "{found}");
}

#[test]
fn certificate_and_key_must_match() {
    let authority = Authority::new();
    let (valid, other) = (authority.server(), authority.issue("other.example"));
    let found = fault(&FeedCredentials { key: other.key, ..valid.clone() });
    assert!(found.contains("127.0.0.1.pem cannot be used with the key"), "{found}");
    let found = fault(&FeedCredentials { key: None, ..valid.clone() });
    assert!(found.contains("127.0.0.1.pem has no key"), "{found}");
    let found = fault(&FeedCredentials { certificate: None, ..valid });
    assert!(found.contains("127.0.0.1.key has no certificate"), "{found}");
}
