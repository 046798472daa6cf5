//! Points on the writer's path at which a simulation inspects the node or kills the process.

/// A point between execution and publication, or around a store commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InspectionPoint {
    /// A step or block is executed and not yet in the journal.
    BeforeAppend,
    /// The append is durable and nothing is published.
    Appended,
    /// The block is sealed in a draft that opens none yet.
    BetweenSealAndOpen,
    /// The change is part of the writer's chain and not yet published.
    BeforePublish,
    /// The view is published; the pool still holds its transactions.
    Published,
    /// Journal segments may be about to be removed.
    BeforeTrim,
    /// The store is about to commit.
    BeforeStoreCommit,
    /// The store has committed, and the new head is not visible to other threads yet.
    StoreCommitted,
}

impl InspectionPoint {
    /// All points, in order.
    pub const ALL: [Self; 8] = [
        Self::BeforeAppend,
        Self::Appended,
        Self::BetweenSealAndOpen,
        Self::BeforePublish,
        Self::Published,
        Self::BeforeTrim,
        Self::BeforeStoreCommit,
        Self::StoreCommitted,
    ];
}

/// Observer that is notified of every [`InspectionPoint`], on the thread that reaches it. It may inspect the node; a
/// panic stops that thread's work at this point.
pub trait Watcher: Send + Sync {
    fn reached(&self, point: InspectionPoint);
}
