//! Concurrent WebSocket subscriptions and their notifications.

use std::io;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use serde::Serialize;

use crate::connection::{Connection, Outcome};
use crate::plan::{Plan, Transport};
use crate::run::{LoadError, ProgressCheck};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Counts of received notifications.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SubscriberMetrics {
    pub notifications: u64,
    pub received: u64,
    /// Lowest and highest number of notifications of one subscriber.
    pub min: u64,
    pub max: u64,
    /// Seconds from the call to the last notification.
    pub seconds: f64,
    /// Number of connections that ended, and the reason of the first.
    pub ended: u64,
    pub first_end: Option<String>,
}

/// Open connections with one subscription each.
pub struct Subscribers {
    poll: Poll,
    members: Vec<Option<Connection>>,
    counts: Vec<u64>,
}

impl Subscribers {
    /// Opens `plan.connections` WebSockets and sends the plan's first body, `eth_subscribe`, on each.
    ///
    /// # Errors
    ///
    /// Returns an error if a connection fails or a response is not a result.
    pub fn open(plan: &Plan) -> Result<Self, LoadError> {
        let Some(body) = plan.bodies.first() else { return Err(LoadError::Plan("bodies: there are none")) };
        let plan = &Plan { transport: Transport::WebSocket, ..plan.clone() };
        let poll = Poll::new()?;
        let requests = [plan.transport.bytes(&plan.target, body)];
        let mut members = Vec::new();
        let deadline = Instant::now() + plan.patience;
        for number in 0..plan.connections {
            let opened = Connection::open(plan, plan.patience);
            let mut member =
                opened.map_err(|error| LoadError::Open { address: plan.target.address, error })?;
            poll.registry().register(
                member.stream(),
                Token(number),
                Interest::READABLE | Interest::WRITABLE,
            )?;
            member.send(0, &requests)?;
            members.push(Some(member));
        }
        let counts = vec![0; members.len()];
        let mut subscribers = Self { poll, members, counts };
        subscribers.subscribed(&requests, deadline)?;
        Ok(subscribers)
    }

    fn subscribed(&mut self, requests: &[Vec<u8>], deadline: Instant) -> Result<(), LoadError> {
        let mut events = Events::with_capacity(1024);
        let mut waiting = vec![true; self.members.len()];
        let mut left = waiting.len();
        while left > 0 {
            if Instant::now() >= deadline {
                return Err(LoadError::Subscription(format!("{left} of {} have no answer", waiting.len())));
            }
            poll(&mut self.poll, &mut events, POLL_INTERVAL)?;
            for event in &events {
                let number = event.token().0;
                let Some(Some(member)) = self.members.get_mut(number) else { continue };
                member.flush(requests)?;
                if !waiting[number] {
                    continue;
                }
                match member.receive(true, event.is_read_closed()) {
                    Outcome::Waiting => {}
                    Outcome::Result(_) => {
                        waiting[number] = false;
                        left -= 1;
                    }
                    Outcome::FailedResponse { why, body, .. } => {
                        return Err(LoadError::Subscription(format!(
                            "{why}: {}",
                            String::from_utf8_lossy(&body)
                        )));
                    }
                    Outcome::Ended => {
                        return Err(LoadError::Subscription("the server ended the connection".to_owned()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Receives notifications until every subscriber has `each` of them or `length` has passed.
    pub fn listen(
        &mut self,
        each: u64,
        length: Duration,
        keep_going: ProgressCheck<'_>,
    ) -> Result<SubscriberMetrics, LoadError> {
        let (start, mut arrivals) = (Instant::now(), SubscriberMetrics::default());
        let (mut last, mut looked) = (start, start);
        let mut events = Events::with_capacity(1024);
        let mut left = self.members.iter().flatten().count();
        self.counts.fill(0);
        // Messages that arrived with the responses, or before this call, cause no further event.
        let mut ready: Vec<usize> = (0..self.members.len()).collect();
        loop {
            for number in ready.drain(..) {
                let Some(slot) = self.members.get_mut(number) else { continue };
                let Some(member) = slot else { continue };
                let (count, received) = (&mut self.counts[number], &mut arrivals.received);
                let before = *count;
                let outcome = member.listen(&mut |text| {
                    *count += 1;
                    *received += text.len() as u64;
                });
                if *count > before {
                    last = Instant::now();
                    left -= usize::from(before < each && *count >= each);
                }
                if let Err(why) = outcome {
                    left -= usize::from(*count < each);
                    arrivals.ended += 1;
                    arrivals.first_end.get_or_insert(why);
                    *slot = None;
                }
            }
            let now = Instant::now();
            if left == 0 || now - start >= length {
                break;
            }
            if now - looked >= POLL_INTERVAL {
                looked = now;
                if !keep_going(self.counts.iter().sum()) {
                    break;
                }
            }
            poll(&mut self.poll, &mut events, POLL_INTERVAL)?;
            ready.extend(events.iter().map(|event| event.token().0));
        }
        arrivals.notifications = self.counts.iter().sum();
        arrivals.min = self.counts.iter().min().copied().unwrap_or_default();
        arrivals.max = self.counts.iter().max().copied().unwrap_or_default();
        arrivals.seconds = (last - start).as_secs_f64();
        Ok(arrivals)
    }
}

fn poll(poll: &mut Poll, events: &mut Events, timeout: Duration) -> io::Result<()> {
    match poll.poll(events, Some(timeout)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            events.clear();
            Ok(())
        }
        result => result,
    }
}
