//! A race of two futures.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Result of the future that ended first.
pub(super) enum FirstOf<A, B> {
    Left(A),
    Right(B),
}

/// Runs both futures until one ends. The other one can be continued.
pub(super) async fn first_of<A: Future, B: Future>(
    mut left: Pin<&mut A>,
    mut right: Pin<&mut B>,
) -> FirstOf<A::Output, B::Output> {
    poll_fn(move |context| {
        if let Poll::Ready(output) = left.as_mut().poll(context) {
            return Poll::Ready(FirstOf::Left(output));
        }
        right.as_mut().poll(context).map(FirstOf::Right)
    })
    .await
}
