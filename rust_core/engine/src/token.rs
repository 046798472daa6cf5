//! Authentication: JSON Web Tokens with HS256 over a shared secret (Engine API, "Authentication").

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use alloy_primitives::hex;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};
use serde::Deserialize;

/// Maximum difference between the time of issue of a token and now, in seconds.
const MAX_AGE: u64 = 60;
/// Size of the secret, in bytes.
const SECRET_SIZE: usize = 32;

/// Reasons for which a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot {action} the secret of the Engine API {}: {error}", path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error("{} is not a secret of the Engine API: it must hold 32 bytes in hex", path.display())]
    Malformed { path: PathBuf },
}

/// Reasons for which a request is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("missing token: send Authorization: Bearer TOKEN")]
    Missing,
    #[error("the token is malformed")]
    Malformed,
    #[error("the token is not signed with HS256")]
    Algorithm,
    #[error("the signature of the token is wrong")]
    Signature,
    #[error("the token has no time of issue (iat)")]
    NoTime,
    #[error("the token was not issued within 60 seconds of now")]
    Stale,
    #[error("the token is expired (exp)")]
    Expired,
}

/// Secret that the driver and the node share.
pub struct TokenSecret(hmac::Key);

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(..)")
    }
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    /// Time of issue in Unix seconds; a JSON number that may have a fraction (RFC 7519).
    iat: Option<f64>,
    exp: Option<f64>,
}

impl TokenSecret {
    pub fn new(secret: &[u8; SECRET_SIZE]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Reads the secret from a file of 64 hex digits. Creates a file that only its owner can read if there is none.
    pub fn read_or_create(path: &Path) -> Result<Self, SecretError> {
        let io = |action| move |error| SecretError::Io { action, path: path.to_owned(), error };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut secret = [0; SECRET_SIZE];
                let random = SystemRandom::new().fill(&mut secret);
                random.map_err(|_| io("create")(io::Error::other("no randomness is available")))?;
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(path)
                    .map_err(io("create"))?;
                writeln!(file, "{}", hex::encode(secret)).map_err(io("write"))?;
                file.sync_all().map_err(io("write"))?;
                return Ok(Self::new(&secret));
            }
            Err(error) => return Err(io("read")(error)),
        };
        let secret = hex::decode_to_array(text.trim());
        secret.map(|secret| Self::new(&secret)).map_err(|_| SecretError::Malformed { path: path.to_owned() })
    }

    /// Checks the value of an `Authorization` header. `now` is in Unix seconds.
    ///
    /// # Errors
    /// Returns the first reason for which the token is not valid. The signature is checked before the claims.
    pub fn check(&self, authorization: Option<&str>, now: u64) -> Result<(), TokenError> {
        let (scheme, token) =
            authorization.and_then(|value| value.split_once(' ')).ok_or(TokenError::Missing)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(TokenError::Missing);
        }
        let token = token.trim();
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed);
        let header: TokenHeader =
            serde_json::from_slice(&decode(header)?).map_err(|_| TokenError::Malformed)?;
        if header.alg != "HS256" {
            return Err(TokenError::Algorithm);
        }
        hmac::verify(&self.0, signed.as_bytes(), &decode(signature)?).map_err(|_| TokenError::Signature)?;
        let claims: Claims = serde_json::from_slice(&decode(claims)?).map_err(|_| TokenError::Malformed)?;
        let issued = claims.iat.ok_or(TokenError::NoTime)?;
        #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 seconds")]
        let (now, max_age) = (now as f64, MAX_AGE as f64);
        if (now - issued).abs() > max_age {
            return Err(TokenError::Stale);
        }
        if claims.exp.is_some_and(|expires| expires + max_age < now) {
            return Err(TokenError::Expired);
        }
        Ok(())
    }

    /// Returns a token that is issued at `now` (Unix seconds), for a client.
    pub fn issue(&self, now: u64) -> String {
        let part = |json: String| URL_SAFE_NO_PAD.encode(json);
        let signed = format!(
            "{}.{}",
            part(r#"{"alg":"HS256","typ":"JWT"}"#.to_owned()),
            part(format!(r#"{{"iat":{now}}}"#))
        );
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn secret() -> TokenSecret {
        TokenSecret::new(&[7; 32])
    }

    fn signed(header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&secret().0, signed.as_bytes()));
        format!("Bearer {signed}.{signature}")
    }

    fn checked(authorization: &str) -> Result<(), TokenError> {
        secret().check(Some(authorization), NOW)
    }

    #[test]
    fn a_fresh_token_is_accepted() {
        assert_eq!(checked(&format!("Bearer {}", secret().issue(NOW))), Ok(()));
        assert_eq!(checked(&format!("bearer {}", secret().issue(NOW - 60))), Ok(()));
        assert_eq!(checked(&format!("Bearer {}", secret().issue(NOW + 60))), Ok(()));
        assert_eq!(checked(&signed(r#"{"alg":"HS256"}"#, r#"{"iat":1800000000.5,"id":"x"}"#)), Ok(()));
    }

    #[test]
    fn other_tokens_are_rejected() {
        use TokenError as E;
        assert_eq!(secret().check(None, NOW), Err(E::Missing));
        assert_eq!(checked("Basic abc"), Err(E::Missing));
        assert_eq!(checked("Bearer"), Err(E::Missing));
        assert_eq!(checked("Bearer abc"), Err(E::Malformed));
        assert_eq!(checked("Bearer a.b.c"), Err(E::Malformed));
        assert_eq!(checked(&format!("Bearer {}", secret().issue(NOW - 61))), Err(E::Stale));
        assert_eq!(checked(&format!("Bearer {}", secret().issue(NOW + 61))), Err(E::Stale));
        let forged = TokenSecret::new(&[8; 32]).issue(NOW);
        assert_eq!(checked(&format!("Bearer {forged}")), Err(E::Signature));
        let token = secret().issue(NOW);
        let (signed_part, _) = token.rsplit_once('.').unwrap();
        assert_eq!(checked(&format!("Bearer {signed_part}.")), Err(E::Signature));
        let claims = format!(r#"{{"iat":{NOW}}}"#);
        assert_eq!(checked(&signed(r#"{"alg":"none"}"#, &claims)), Err(E::Algorithm));
        assert_eq!(checked(&signed(r#"{"alg":"HS512"}"#, &claims)), Err(E::Algorithm));
        assert_eq!(checked(&signed(r#"{"alg":"HS256"}"#, "{}")), Err(E::NoTime));
        let expired = format!(r#"{{"iat":{NOW},"exp":{}}}"#, NOW - 61);
        assert_eq!(checked(&signed(r#"{"alg":"HS256"}"#, &expired)), Err(E::Expired));
    }

    #[test]
    fn a_missing_secret_is_created_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.jwt");
        let created = TokenSecret::read_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = TokenSecret::read_or_create(&path).unwrap();
        assert_eq!(read.check(Some(&format!("Bearer {}", created.issue(NOW))), NOW), Ok(()));
        fs::write(&path, "0x1234").unwrap();
        assert!(matches!(TokenSecret::read_or_create(&path), Err(SecretError::Malformed { .. })));
    }
}
