//! The secret that sequencer and followers share.

use std::{fmt, fs::File, io::Read, path::Path};

use subtle::ConstantTimeEq;

use super::CredentialError;

/// Minimum size of a token, in bytes.
const MIN_TOKEN_SIZE: usize = 16;
/// Maximum size of a token, in bytes.
pub(super) const MAX_TOKEN_SIZE: usize = 1024;
/// Maximum size of the newline after a token in its file.
const NEWLINE: usize = 2;

/// A shared secret.
#[derive(Clone)]
pub(super) struct FeedToken(Vec<u8>);

impl FeedToken {
    /// Reads the token in a file. A newline at its end is not part of it.
    pub fn load(path: &Path) -> Result<Self, CredentialError> {
        let failed = |why| CredentialError::Read { what: "token file", path: path.to_owned(), why };
        let mut bytes = Vec::new();
        let limit = MAX_TOKEN_SIZE + NEWLINE + 1;
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        file.take(limit as u64).read_to_end(&mut bytes).map_err(failed)?;
        let content =
            bytes.strip_suffix(b"\n").map_or(&*bytes, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
        if !(MIN_TOKEN_SIZE..=MAX_TOKEN_SIZE).contains(&content.len()) {
            // Only the beginning of a larger file was read.
            let size = if bytes.len() == limit { size } else { content.len() as u64 };
            return Err(CredentialError::TokenSize { path: path.to_owned(), bytes: size });
        }
        Ok(Self(content.to_vec()))
    }

    /// Returns `true` if `candidate` is this token, in a time that does not depend on the first difference.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        self.0.as_slice().ct_eq(candidate).into()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for FeedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeedToken(secret)")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(content: &[u8]) -> Result<FeedToken, CredentialError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, content).unwrap();
        FeedToken::load(&path)
    }

    #[test]
    fn a_token_is_read_without_its_newline() {
        for content in [&b"0123456789abcdef"[..], b"0123456789abcdef\n", b"0123456789abcdef\r\n"] {
            assert_eq!(load(content).unwrap().bytes(), b"0123456789abcdef");
        }
        assert_eq!(load(&[7; MAX_TOKEN_SIZE]).unwrap().bytes().len(), MAX_TOKEN_SIZE);
    }

    #[test]
    fn a_token_of_invalid_size_is_rejected() {
        for (content, bytes) in [(vec![1; 15], 15), (vec![1; 1025], 1025), (vec![1; 5000], 5000), (vec![], 0)]
        {
            match load(&content) {
                Err(CredentialError::TokenSize { bytes: size, .. }) => assert_eq!(size, bytes),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_the_same_bytes_match() {
        let token = load(b"0123456789abcdef").unwrap();
        assert!(token.matches(b"0123456789abcdef"));
        assert!(
            !token.matches(b"0123456789abcdeg") && !token.matches(b"0123456789abcde") && !token.matches(b"")
        );
        assert_eq!(format!("{token:?}"), "FeedToken(secret)");
    }
}
