//! Responses ready for sending: JSON of a body, and whole HTTP responses for a transport that writes them
//! unchanged.

use std::sync::Arc;

use bytes::Bytes;
use foreseal_chain::View;
use foreseal_node::Node;
use foreseal_rpc::Answered;

/// Returns the parts of the response to one call.
pub fn envelope<'a>(id: &'a str, result: &'a [u8]) -> [&'a [u8]; 5] {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), b",\"result\":", result, b"}"]
}

/// Freshness of a view: its block and step, ms since the last tick, and the number of the ownership (0 without a
/// quorum journal).
#[derive(Clone, Copy)]
pub struct Freshness {
    pub block: u64,
    pub step: u64,
    pub age: u64,
    pub epoch: u64,
}

impl Freshness {
    /// Returns the freshness of the newest view, and the view. The age is read before the view, so that it
    /// never claims to be newer than it is.
    pub fn read(node: &Node) -> (Self, Option<Arc<View>>) {
        let age = u64::try_from(node.age().as_millis()).unwrap_or(u64::MAX);
        let view = node.view();
        // After the view, whose steps no later owner has written.
        let epoch = node.owner_epoch();
        let (block, step) =
            view.as_ref().map_or((0, 0), |view| (view.pending().number(), view.pending_index()));
        (Self { block, step, age, epoch }, view)
    }

    /// Returns the last lines of an HTTP head: the freshness, and the length of a body of `length` bytes.
    pub fn lines(self, length: usize) -> String {
        let Self { block, step, age, epoch } = self;
        let owner = if epoch == 0 { String::new() } else { format!("; epoch={epoch}") };
        format!("x-foreseal-view: {block}.{step}; age={age}{owner}\r\ncontent-length: {length}\r\n\r\n")
    }
}

/// The response to a body of submissions whose calls all succeed.
pub struct SubmissionResponse {
    pub is_batch: bool,
    /// Largest answer, in bytes.
    pub response: usize,
    /// The first lines of an HTTP response, and the freshness of the view.
    pub head: Option<(Vec<u8>, Freshness)>,
}

impl SubmissionResponse {
    /// Returns the JSON after its head; `None` if a call failed or the JSON exceeds the limit.
    pub fn render(&self, answers: &[Answered]) -> Option<Bytes> {
        let mut json = Vec::with_capacity(128 * answers.len());
        for (id, outcome) in answers {
            let result = outcome.as_ref().ok()?;
            json.push(if json.is_empty() { b'[' } else { b',' });
            for part in envelope(id, result) {
                json.extend_from_slice(part);
            }
        }
        if json.len() > self.response {
            return None;
        }
        json.push(b']');
        let body = if self.is_batch { &json[..] } else { &json[1..json.len() - 1] };
        let Some((first, freshness)) = &self.head else { return Some(Bytes::copy_from_slice(body)) };
        Some([first, freshness.lines(body.len()).as_bytes(), body].concat().into())
    }
}
