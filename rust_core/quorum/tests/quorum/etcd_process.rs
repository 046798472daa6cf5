//! An etcd process for tests.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use foreseal_quorum::{EtcdSettings, EtcdStore, EtcdUrl};

/// Time of an attempt, for a busy disk: only the first call of a test is repeated, while etcd starts.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A single etcd node on a free port, ended when dropped.
pub struct EtcdProcess {
    child: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

impl EtcdProcess {
    /// Starts etcd; `None` after a message if it is not installed.
    pub fn start(flags: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            println!("skipped: etcd is not installed");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let (port, peer_port) = (free_port(), free_port());
        let scheme = if flags.contains(&"--cert-file") { "https" } else { "http" };
        let client = format!("{scheme}://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer_port}");
        let child = Command::new(program)
            .args(["--data-dir", folder.path().to_str().unwrap()])
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self { child, port, _folder: folder })
    }

    pub fn settings(&self) -> EtcdSettings {
        let url = EtcdUrl::parse(&format!("etcd://127.0.0.1:{}/test", self.port)).unwrap();
        EtcdSettings { url, tls: None, user: None }
    }

    pub fn quorum(&self) -> EtcdStore {
        EtcdStore::new(&self.settings()).unwrap().with_attempt_timeout(PATIENCE)
    }
}

impl Drop for EtcdProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("FORESEAL_ETCD") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("etcd")).find(|file| file.is_file())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Repeats a call until it succeeds; panics after a minute.
pub fn retry<T, E: std::fmt::Display>(call: impl Fn() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        match call() {
            Ok(value) => return value,
            Err(error) => assert!(started.elapsed() < Duration::from_mins(1), "{error}"),
        }
    }
}
