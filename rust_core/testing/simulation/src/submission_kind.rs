//! Transactions that clients submit.

use rand::{Rng, rngs::StdRng};

/// Kind of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionKind {
    /// The sender's next transaction.
    Next,
    /// A transaction with a nonce gap.
    Gap,
    /// A replacement of a pooled transaction, with enough of a fee bump or too little.
    Instead {
        enough: bool,
    },
    /// A transaction that the node accepted before.
    Again,
    /// A transaction with a used nonce.
    Stale,
    /// A transaction of an account without funds.
    Poor,
    /// Bytes that do not decode to a transaction.
    Garbage,
    Blob,
}

/// Draws the kind of a submission.
pub fn draw_submission(random: &mut StdRng) -> SubmissionKind {
    match random.random_range(0..1000) {
        0..620 => SubmissionKind::Next,
        620..680 => SubmissionKind::Gap,
        680..740 => SubmissionKind::Instead { enough: true },
        740..780 => SubmissionKind::Instead { enough: false },
        780..860 => SubmissionKind::Again,
        860..910 => SubmissionKind::Stale,
        910..950 => SubmissionKind::Poor,
        950..999 => SubmissionKind::Garbage,
        _ => SubmissionKind::Blob,
    }
}
