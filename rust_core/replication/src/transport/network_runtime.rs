//! The thread that runs the network side of a listener or a connector.

use std::{future::Future, io, thread::JoinHandle};

use tokio::runtime::{Builder, Handle};

/// Maximum number of concurrent lookups of host names.
const MAX_LOOKUPS: usize = 2;

/// A started runtime.
pub(super) struct NetworkRuntime {
    pub handle: Handle,
    pub thread: JoinHandle<()>,
}

impl NetworkRuntime {
    /// Starts a thread that runs `main` and the tasks that are spawned on the handle. When `main` ends, so do
    /// the tasks.
    pub fn start(name: &str, main: impl Future<Output = ()> + Send + 'static) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_LOOKUPS)
            .build()?;
        let handle = runtime.handle().clone();
        let run = move || {
            runtime.block_on(main);
            // Without waiting for the lookup of a host name.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { handle, thread })
    }
}
