//! Hosts that are this machine.

use std::net::IpAddr;

/// Name of this machine.
const LOCALHOST: &str = "localhost";

/// Returns `true` if a connection to the host, written without brackets, does not leave this machine. The addresses of
/// other names are not known here.
pub fn is_loopback(host: &str) -> bool {
    host == LOCALHOST || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}
