//! The connection of one reader.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    net::TcpStream,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Bytes, Error, Message,
        protocol::{
            CloseFrame,
            frame::{
                Frame,
                coding::{CloseCode, Data, OpCode},
            },
        },
    },
};

use super::{
    message::FlashblockMessage,
    reader_queue::{DisconnectReason, ReaderQueue},
};

/// Time between two pings. A reader that answers none of `MAX_MISSED` pings is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const MAX_MISSED: u32 = 2;
/// Maximum number of messages of a reader between two pings of this node. Readers send only pings and pongs.
const MAX_RECEIVED: u32 = 200;
/// Maximum time in which a reader accepts a frame.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time in which a reader accepts and answers the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

impl DisconnectReason {
    /// Returns the close frame; `None` if the reader cannot receive it.
    fn close_frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Closed => return None,
            Self::TooSlow => (CloseCode::Again, "too slow: reconnect to begin with the open block"),
            Self::Silent => (CloseCode::Policy, "pings are not answered"),
            Self::TooManyMessages => (CloseCode::Policy, "too many messages"),
            Self::Stopping => (CloseCode::Away, "the node stops"),
            Self::Failed => (CloseCode::Error, "internal error"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// WebSocket of a reader, with its queue.
pub(super) struct ReaderConnection<'a> {
    pub socket: WebSocketStream<TcpStream>,
    pub queue: &'a ReaderQueue,
}

impl ReaderConnection<'_> {
    /// Sends messages until the connection ends, and closes it. Returns the reason.
    pub async fn run(mut self) -> DisconnectReason {
        let Err(reason) = self.exchange().await;
        self.queue.end(reason);
        if let Some(frame) = reason.close_frame() {
            // A reader that does not read gets no frame: the end of the connection has to do.
            let _ = timeout(CLOSE_TIMEOUT, self.close(frame)).await;
        }
        reason
    }

    /// Sends the close frame and waits for that of the reader: with unread data, the connection would be reset.
    async fn close(&mut self, frame: CloseFrame) -> Result<(), Error> {
        self.socket.close(Some(frame)).await?;
        while self.socket.next().await.transpose()?.is_some() {}
        Ok(())
    }

    async fn exchange(&mut self) -> Result<std::convert::Infallible, DisconnectReason> {
        // A reader whose ping is answered gets every step from then on.
        self.queue.wait_for_admission().await?;
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut missed, mut received) = (0, 0);
        loop {
            tokio::select! {
                message = self.queue.next() => self.send(&message?).await?,
                incoming = self.socket.next() => match incoming {
                    None | Some(Err(_) | Ok(Message::Close(_))) => return Err(DisconnectReason::Closed),
                    Some(Ok(_)) => {
                        (missed, received) = (0, received + 1);
                        if received > MAX_RECEIVED {
                            return Err(DisconnectReason::TooManyMessages);
                        }
                    }
                },
                _ = pings.tick() => {
                    if missed == MAX_MISSED {
                        return Err(DisconnectReason::Silent);
                    }
                    (missed, received) = (missed + 1, 0);
                    self.send_one(Message::Ping(Bytes::new())).await?;
                }
            }
        }
    }

    /// Sends a message: one frame, or fragments.
    async fn send(&mut self, message: &FlashblockMessage) -> Result<(), DisconnectReason> {
        let mut frames = message.frames().peekable();
        let mut kind = Data::Text;
        while let Some(payload) = frames.next() {
            let frame = Frame::message(payload, OpCode::Data(kind), frames.peek().is_none());
            self.send_one(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    async fn send_one(&mut self, message: Message) -> Result<(), DisconnectReason> {
        tokio::select! {
            sent = timeout(SEND_TIMEOUT, self.socket.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(DisconnectReason::Closed),
                Err(_) => Err(DisconnectReason::TooSlow),
            },
            reason = self.queue.wait_for_end() => Err(reason),
        }
    }
}
