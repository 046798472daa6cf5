//! The feed between the stations of a cluster run.

use std::io::ErrorKind;

use foreseal_replication::wire::MAX_REMOTE_SILENCE;

use crate::{
    cluster_station::{FeedLink, FollowEnd, Station, station_at},
    cluster_world::ClusterWorld,
    pipe::{Pipe, Ready},
};

/// Maximum number of frames that a side handles in a round.
const FRAMES: usize = 64;
/// Delay between attempts to connect, in milliseconds.
const RETRY: u64 = 160;

impl ClusterWorld {
    /// Runs both sides of the connection of a follower.
    pub fn flow(&self, at: usize) {
        let station = &self.stations[at];
        let Ok(mut end) = station.follow.try_borrow_mut() else { return };
        let is_paused = station.paused_until.get() > self.now();
        if end.follower.is_none() || is_paused || station.node().is_none() {
            // The other side may still serve.
            self.serve(at, &mut end);
            return;
        }
        self.choose(station, &mut end);
        self.serve(at, &mut end);
        // A leader holds the lock of its chain while it works.
        let is_locked = station.is_busy() && station.leads();
        let ended = !is_locked && self.receive(station, &mut end);
        drop(end);
        if ended {
            self.unwound(station);
        } else if !station.is_busy() && station.process.borrow().is_some() {
            self.settle(station);
        }
    }

    /// Ends a connection to a station that is no longer followed, and begins the next one.
    fn choose(&self, station: &Station, end: &mut FollowEnd) {
        let Some(node) = station.node() else { return };
        let wanted: Vec<usize> = node.follow_addresses().iter().filter_map(station_at).collect();
        if let Some(link) = &end.link {
            if !wanted.contains(&link.to) {
                link.down.cut(0, true);
                link.up.close();
            }
            return;
        }
        if end.retry_at > self.now() {
            return;
        }
        end.retry_at = self.now() + RETRY;
        let Some(follower) = &mut end.follower else { return };
        end.attempts += 1;
        let Some(&to) = wanted.get(end.attempts % wanted.len().max(1)) else {
            return follower.connection_failed(ErrorKind::NotConnected.into());
        };
        if self.is_cut(station.at, to) || self.stations[to].node().is_none() {
            return follower.connection_failed(ErrorKind::ConnectionRefused.into());
        }
        match follower.greet() {
            Ok(hello) => {
                let (down, up) = (Pipe::new(self.below(u64::MAX)), Pipe::new(self.below(u64::MAX)));
                if std::io::Write::write_all(&mut up.clone(), &hello).is_ok() {
                    end.link = Some(FeedLink { to, down, up, server: None, silent_since: None });
                    self.counts.borrow_mut().connections += 1;
                }
            }
            Err(reason) => self.trace(&format!("  station {} does not follow: {reason}", station.at)),
        }
    }

    /// Delivers bytes, and runs the serving side.
    fn serve(&self, at: usize, end: &mut FollowEnd) {
        let Some(link) = &mut end.link else { return };
        let other = &self.stations[link.to];
        let Some(node) = other.node() else { return };
        if self.is_cut(at, link.to) {
            let since = *link.silent_since.get_or_insert(self.now());
            if u128::from(self.now() - since) > MAX_REMOTE_SILENCE.as_millis() {
                link.down.cut(0, true);
                link.up.cut(0, true);
            }
        } else {
            link.silent_since = None;
            link.up.arrive(self.some(2_000));
            link.down.arrive(self.some(8_000));
        }
        if other.paused_until.get() > self.now() {
            return;
        }
        if let Err(reason) = run_server(link, &node) {
            self.trace(&format!("  station {} leaves a follower: {reason}", other.at));
            link.server = None;
            link.down.close();
            link.up.close();
        }
    }

    /// Draws a number of bytes.
    fn some(&self, most: u64) -> usize {
        if self.below(10) < 7 { usize::MAX } else { usize::try_from(self.below(most)).unwrap_or(0) }
    }

    /// Runs the following side. Returns `true` if its process has ended meanwhile.
    fn receive(&self, station: &Station, end: &mut FollowEnd) -> bool {
        for _ in 0..FRAMES {
            let (Some(follower), Some(link)) = (&mut end.follower, &end.link) else { return false };
            if link.down.ready() == Ready::Not {
                break;
            }
            let mut down = link.down.clone();
            let Some(received) = crate::quietly(|| follower.receive(&mut down)) else { return true };
            if let Err(reason) = received {
                self.trace(&format!("  station {} loses its connection: {reason}", station.at));
                link.up.close();
                end.link = None;
                end.retry_at = self.now() + 20;
                return false;
            }
            if station.disk.is_down() || self.is_broken() {
                return false;
            }
        }
        let (Some(follower), Some(link)) = (&mut end.follower, &end.link) else { return false };
        if !link.up.is_full() && follower.send_due(&mut link.up.clone()).is_err() {
            end.link = None;
        }
        false
    }

    /// Returns `true` if no byte arrives between two stations.
    fn is_cut(&self, one: usize, other: usize) -> bool {
        let now = self.now();
        self.cuts.borrow().iter().any(|&(from, to, until)| {
            until > now && ((from, to) == (one, other) || (from, to) == (other, one))
        })
    }

    /// Ends all connections of a process that has ended.
    pub fn hang_up(&self, at: usize) {
        for station in &self.stations {
            let Ok(mut end) = station.follow.try_borrow_mut() else { continue };
            if station.at == at {
                if let Some(link) = end.link.take() {
                    link.up.cut(self.some(500), false);
                    link.down.close();
                }
                end.follower = None;
            } else if let Some(link) = &mut end.link
                && link.to == at
            {
                link.server = None;
                link.down.cut(self.some(2_000), self.below(2) == 0);
                link.up.close();
            }
        }
    }
}

fn run_server(link: &mut FeedLink, node: &foreseal_node::Node) -> Result<(), String> {
    let FeedLink { down, up, server, .. } = link;
    let Some(serves) = server else {
        if up.ready() == Ready::Yes {
            *server = Some(node.serve_manual(&mut up.clone(), Box::new(down.clone()))?);
        }
        return Ok(());
    };
    for _ in 0..FRAMES {
        if up.ready() == Ready::Not {
            break;
        }
        if !serves.receive(&mut up.clone()) {
            return Err("it has hung up".to_owned());
        }
    }
    for _ in 0..FRAMES {
        if down.is_full() {
            break;
        }
        let before = down.in_flight();
        serves.run_once()?;
        if down.in_flight() == before {
            break;
        }
    }
    Ok(())
}
