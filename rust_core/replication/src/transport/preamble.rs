//! Message of a follower before the feed's protocol, and the listener's verdict.
//!
//! ```text
//!   magic (8 bytes) | length of the token (2 bytes, little-endian) | token   ----->
//!                                                                            <-----  verdict (1 byte)
//! ```

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::feed_token::{FeedToken, MAX_TOKEN_SIZE};

const MAGIC: &[u8; 8] = b"FSEALTP1";

/// The listener's verdict on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Verdict {
    #[error("admitted")]
    Admitted,
    #[error("no valid token and no client certificate")]
    Unauthorized,
    #[error("the maximum number of connections is reached")]
    TooManyConnections,
    #[error("the preamble is not that of a follower")]
    InvalidPreamble,
}

impl Verdict {
    pub fn to_byte(self) -> u8 {
        match self {
            Self::Admitted => 0,
            Self::Unauthorized => 1,
            Self::TooManyConnections => 2,
            Self::InvalidPreamble => 3,
        }
    }

    pub fn from_byte(byte: u8) -> Option<Self> {
        [Self::Admitted, Self::Unauthorized, Self::TooManyConnections, Self::InvalidPreamble]
            .into_iter()
            .find(|verdict| verdict.to_byte() == byte)
    }
}

/// Returns the preamble with this token.
pub(super) fn encode_preamble(token: Option<&FeedToken>) -> Vec<u8> {
    let token = token.map_or(&[][..], FeedToken::bytes);
    let length = u16::try_from(token.len()).expect("a token has at most 1024 bytes");
    [&MAGIC[..], &length.to_le_bytes(), token].concat()
}

/// Reads a preamble and returns its token; `None` if the bytes are not a preamble.
pub(super) async fn read_preamble(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut front = [0; MAGIC.len() + 2];
    stream.read_exact(&mut front).await?;
    let Some(length) = front.strip_prefix(MAGIC).and_then(|length| length.try_into().ok()) else {
        return Ok(None);
    };
    let length = usize::from(u16::from_le_bytes(length));
    if length > MAX_TOKEN_SIZE {
        return Ok(None);
    }
    let mut token = vec![0; length];
    stream.read_exact(&mut token).await?;
    Ok(Some(token))
}
