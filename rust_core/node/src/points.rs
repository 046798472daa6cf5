//! Places on the writer's way at which a simulation looks, or ends the process.

/// A place between what was and what will be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Executed, not in the journal.
    BeforeAppend,
    /// Durable, known to nobody.
    Appended,
    /// The block is sealed in a draft that opens none yet.
    BetweenSealAndOpen,
    /// Part of the writer's chain, not shown.
    BeforePublish,
    /// Shown; the pool holds its transactions still.
    Published,
    /// Segments of the journal may be about to go.
    BeforeTrim,
    /// The store is about to commit.
    BeforeStoreCommit,
    /// The store has committed, and nobody knows.
    StoreCommitted,
}

impl Point {
    /// All of them, in order.
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

/// Is told of every [`Point`] as it is reached, on the thread that reaches it. It may look at the node; where it panics,
/// the way of that thread ends.
pub trait Watcher: Send + Sync {
    fn reached(&self, point: Point);
}
