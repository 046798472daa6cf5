//! The key with which the sequencer signs its steps, and its file.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use alloy_consensus::crypto::secp256k1::{recover_signer, sign_message};
use alloy_primitives::{Address, B256, hex};
use foreseal_keccak::keccak;
use foreseal_primitives::{CommitmentDomain, FlashblockCommitment, StepSignature};
use rustix::fs::{Mode, OFlags};

use crate::errors::key_error::KeyError;

/// Permission bits of the key file that grant access to group and others.
const OTHERS: u32 = 0o077;
/// Maximum number of bytes read from a key file; a key needs 64 digits.
const MAX_KEY_FILE_SIZE: u64 = 80;

/// A signing key for the steps of one chain.
#[derive(Clone)]
pub struct StepSigner {
    secret: B256,
    address: Address,
    domain: CommitmentDomain,
}

impl fmt::Debug for StepSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepSigner").field("address", &self.address).finish_non_exhaustive()
    }
}

impl StepSigner {
    /// Creates a signer; `None` if `secret` is not a valid secp256k1 key.
    pub fn new(secret: B256, chain_id: u64) -> Option<Self> {
        let probe = keccak(b"");
        let address = recover_signer(&sign_message(secret, probe).ok()?, probe).ok()?;
        Some(Self { secret, address, domain: CommitmentDomain::new(chain_id) })
    }

    /// Reads the key from the file at `path`, which only its owner may be able to access.
    pub fn read(path: &Path, chain_id: u64) -> Result<Self, KeyError> {
        // Opening must not block: a FIFO would block until a writer opens it.
        let open = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
        let file = File::from(open.map_err(io::Error::from).map_err(KeyError::io("open", path))?);
        let metadata = file.metadata().map_err(KeyError::io("read", path))?;
        if !metadata.is_file() {
            return Err(KeyError::NotAFile { path: path.to_owned() });
        }
        let mode = metadata.mode() & 0o7777;
        if mode & OTHERS != 0 {
            return Err(KeyError::Permissions { path: path.to_owned(), mode });
        }
        let mut text = Vec::new();
        file.take(MAX_KEY_FILE_SIZE).read_to_end(&mut text).map_err(KeyError::io("read", path))?;
        let whole = (text.len() as u64) < MAX_KEY_FILE_SIZE;
        let mut secret = B256::ZERO;
        let decoded = whole && hex::decode_to_slice(text.trim_ascii(), secret.as_mut_slice()).is_ok();
        let key = decoded.then(|| Self::new(secret, chain_id)).flatten();
        key.ok_or_else(|| KeyError::Content { path: path.to_owned() })
    }

    /// Returns `true` if there is nothing at `path`.
    pub(crate) fn is_absent(path: &Path) -> Result<bool, KeyError> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(KeyError::io("open", path)(error)),
        }
    }

    /// Writes a new key durably, to a draft file; [`Self::adopt_draft`] moves it to `path`. The caller holds
    /// the lock of the directory.
    pub(crate) fn draft(path: &Path, chain_id: u64, secret: B256) -> Result<Self, KeyError> {
        let made = Self::new(secret, chain_id);
        let made = made.ok_or_else(|| KeyError::Content { path: path.to_owned() })?;
        write_new(&draft_path(path), &secret).map_err(KeyError::io("write", path))?;
        Ok(made)
    }

    /// Returns `true` if a draft of the key for `path` exists and signs as `address`.
    pub(crate) fn has_draft(path: &Path, chain_id: u64, address: Address) -> bool {
        Self::read(&draft_path(path), chain_id).is_ok_and(|draft| draft.address == address)
    }

    /// Moves the draft to `path`, durably.
    pub(crate) fn adopt_draft(path: &Path) -> Result<(), KeyError> {
        let renamed = fs::rename(draft_path(path), path);
        let synced = renamed.and_then(|()| sync_parent(path));
        synced.map_err(KeyError::io("write", path))
    }

    /// Returns the address that the signatures recover to.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Signs a step, with low s and deterministically (RFC 6979).
    pub fn sign(&self, promise: &FlashblockCommitment) -> StepSignature {
        let signature = sign_message(self.secret, promise.digest(self.domain));
        StepSignature::new(signature.expect("the key has signed before").as_bytes())
    }
}

fn draft_path(path: &Path) -> PathBuf {
    path.with_extension("new")
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Writes a new file that only its owner can access from its creation on.
fn write_new(draft: &Path, secret: &B256) -> io::Result<()> {
    // Removes the draft of a start that was interrupted.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(format!("{}\n", hex::encode(secret)).as_bytes())?;
    file.sync_all()?;
    sync_parent(draft)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CHAIN: u64 = 31337;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sequencer.key");
        (folder, path)
    }

    fn put(path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// First account of the default development mnemonic.
    const SECRET: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

    #[test]
    fn a_key_is_generated_once() {
        let (folder, path) = folder();
        let made = StepSigner::draft(&path, CHAIN, SECRET.parse().unwrap()).unwrap();
        assert!(StepSigner::is_absent(&path).unwrap());
        assert!(StepSigner::has_draft(&path, CHAIN, made.address()));
        assert!(!StepSigner::has_draft(&path, CHAIN, Address::ZERO));
        StepSigner::adopt_draft(&path).unwrap();
        assert!(!StepSigner::is_absent(&path).unwrap());
        assert_eq!(made.address().to_string(), ADDRESS);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{SECRET}\n"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let again = StepSigner::read(&path, CHAIN).unwrap();
        assert_eq!(again.address(), made.address());
        assert!(!format!("{made:?}").contains(&SECRET[..8]));
    }

    #[test]
    fn a_draft_left_by_an_interrupted_start_is_no_key() {
        let (folder, path) = folder();
        put(&folder.path().join("sequencer.new"), "half", 0o644);
        assert!(!StepSigner::has_draft(&path, CHAIN, Address::ZERO));
        StepSigner::draft(&path, CHAIN, B256::repeat_byte(1)).unwrap();
        StepSigner::adopt_draft(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_file_with_wider_permissions_is_rejected() {
        let (_folder, path) = folder();
        for mode in [0o640, 0o604, 0o644, 0o601] {
            put(&path, SECRET, mode);
            let error = StepSigner::read(&path, CHAIN).unwrap_err();
            assert_eq!(error, KeyError::Permissions { path: path.clone(), mode });
            assert!(error.to_string().ends_with(&format!("(mode {mode:o}): chmod 600")), "{error}");
        }
        put(&path, SECRET, 0o400);
        StepSigner::read(&path, CHAIN).unwrap();
    }

    #[test]
    fn a_file_without_a_key_is_rejected_and_left_unchanged() {
        let (_folder, path) = folder();
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let long = format!("{SECRET}00");
        let (far, twice) = (format!("{SECRET}{}00", " ".repeat(99)), format!("0x0x{SECRET}"));
        for text in ["", "0x", "no key", &SECRET[1..], &long, &far, &twice, &"0".repeat(64), order] {
            put(&path, text, 0o600);
            let error = StepSigner::read(&path, CHAIN).unwrap_err();
            assert_eq!(error, KeyError::Content { path: path.clone() }, "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        put(&path, &format!(" 0x{SECRET}\r\n"), 0o600);
        assert_eq!(StepSigner::read(&path, CHAIN).unwrap().address().to_string(), ADDRESS);
    }

    #[test]
    fn a_key_path_that_is_no_file_is_rejected() {
        let (folder, path) = folder();
        let error = StepSigner::read(folder.path(), CHAIN).unwrap_err();
        assert_eq!(error, KeyError::NotAFile { path: folder.path().to_owned() });
        let pipe = folder.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status().unwrap().success()
        );
        assert_eq!(StepSigner::read(&pipe, CHAIN).unwrap_err(), KeyError::NotAFile { path: pipe });
        let error = StepSigner::read(&path, CHAIN).unwrap_err();
        assert!(matches!(error, KeyError::Io { what: "open", .. }), "{error}");
    }

    #[test]
    fn a_signature_recovers_to_the_key_on_its_chain_only() {
        let signer = StepSigner::new(SECRET.parse().unwrap(), CHAIN).unwrap();
        let (hash, previous) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let commitment =
            FlashblockCommitment { number: 7, index: 3, hash, previous, time: 1_700_000_000_123 };
        let signature = signer.sign(&commitment);
        assert!(matches!(signature[64], 27 | 28));
        assert_eq!(signature, signer.sign(&commitment), "always the same");
        assert_eq!(commitment.signer(CommitmentDomain::new(CHAIN), &signature), Some(signer.address()));
        assert_ne!(commitment.signer(CommitmentDomain::new(1), &signature), Some(signer.address()));
        let later = FlashblockCommitment { time: commitment.time + 1, ..commitment };
        assert_ne!(later.signer(CommitmentDomain::new(CHAIN), &signature), Some(signer.address()));
    }
}
